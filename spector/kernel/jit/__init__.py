"""The backend that Numba compiles."""

from __future__ import annotations

from spector.kernel.jit.compile import (
    compile_seconds,
    probe,
)
from spector.kernel.jit.scan import (
    NumbaKernel,
)
