"""Choice of the backend: C, else Numba, else NumPy; ``SPECTOR_KERNEL`` pins one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from spector.errors import KernelUnavailableError
from spector.kernel.contract import Kernel
from spector.messages import install_command
from spector.process import said_as_memory_error

ENV: Final = "SPECTOR_KERNEL"


def _native() -> Kernel:
    from spector.kernel.native import NativeKernel

    return NativeKernel()


def _numba() -> Kernel:
    from spector.kernel.jit import NumbaKernel, probe

    probe()
    return NumbaKernel()


def _reference() -> Kernel:
    from spector.kernel.reference import ReferenceKernel

    return ReferenceKernel()


#: fastest first; imports are delayed, so a backend that is not used is not loaded
_LOADERS: Final[dict[str, Callable[[], Kernel]]] = {
    "native": _native,
    "numba": _numba,
    "reference": _reference,
}
KERNEL_NAMES: Final = tuple(_LOADERS)


def get_kernel() -> Kernel:
    """The kernel of this process: the pinned one, or the first that loads.

    Raises:
        KernelUnavailableError: ``SPECTOR_KERNEL`` names no kernel, or one that cannot load.
    """
    return _choose(os.environ.get(ENV, ""))[0]


def kernel_info() -> dict[str, Any]:
    """``name``, ``why`` it was chosen, and ``isa``: the instruction set or compiler in use.

    For Numba also ``compile_s``: seconds that this process has spent compiling; 0.0 if all results
    were cached.
    """
    kernel, why = _choose(os.environ.get(ENV, ""))
    isa = {"numba": "llvm", "reference": "numpy"}.get(kernel.name, "")
    if kernel.name == "native":
        from spector.kernel.native import caps_names

        isa = "+".join(caps_names()) or "portable"
    info: dict[str, Any] = {"name": kernel.name, "why": why, "isa": isa}
    if kernel.name == "numba":
        from spector.kernel.jit import compile_seconds

        info["compile_s"] = round(compile_seconds(), 3)
    return info


@cache
def load_kernel(name: str) -> Kernel:
    """A backend by name.

    Raises:
        KernelUnavailableError: no backend has this name, or it cannot load (with the reason).
    """
    loader = _LOADERS.get(name)
    if loader is None:
        raise KernelUnavailableError(
            f"no kernel {name!r}", hint=f"set {ENV} to one of {', '.join(KERNEL_NAMES)}"
        )
    try:
        with said_as_memory_error():
            return loader()
    except MemoryError:  # it passes, so do not settle for a slower backend
        raise
    except Exception as error:
        hint = (
            "reinstall with a C compiler on PATH"
            if name == "native"
            else install_command("numba" if name == "numba" else "")
        )
        raise KernelUnavailableError(
            f"the {name} kernel cannot load: {error}", hint=f"{hint}, or unset {ENV}"
        ) from error


@cache
def _choose(pinned: str) -> tuple[Kernel, str]:
    if pinned:
        return load_kernel(pinned), f"pinned by {ENV}"
    reasons: list[str] = []
    for name in KERNEL_NAMES:
        try:
            kernel = load_kernel(name)
        except KernelUnavailableError as error:
            reasons.append(error.message)
        else:
            if name == "reference":
                warnings.warn(
                    f"NumPy scans, many times slower than a compiled kernel ({'; '.join(reasons)});"
                    f" {install_command('numba')} compiles one",
                    RuntimeWarning,
                    stacklevel=3,
                )
            return kernel, "; ".join(reasons) or "fastest available"
    raise KernelUnavailableError("no kernel can load: " + "; ".join(reasons))
