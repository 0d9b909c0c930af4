"""The backend in C, called without the GIL."""

from __future__ import annotations

from spector.kernel.native.scan import NativeKernel, caps_names

__all__ = [
    "NativeKernel",
    "caps_names",
]
