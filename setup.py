"""Builds the C kernel when it can; everything else about the package is in pyproject.toml.

Environment:
    SPECTOR_NO_NATIVE=1       do not build it
    SPECTOR_REQUIRE_NATIVE=1  fail when it cannot be built
    SPECTOR_SANITIZE=...      see native/build.py
"""

from __future__ import annotations

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


def wanted(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


class OptionalBuild(build_ext):
    """A missing or broken C compiler costs speed, not the installation."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self._give_up(error)

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:
            self._give_up(error)
            self.extensions = [other for other in self.extensions if other is not ext]

    def _give_up(self, error: Exception) -> None:
        if wanted("SPECTOR_REQUIRE_NATIVE"):
            raise error
        print(
            f"spector: the C kernel was not built ({type(error).__name__}: {error}).\n"
            "spector: the Numba kernel will serve; results are the same, scans are slower.",
            file=sys.stderr,
        )


def native_modules() -> list[str]:
    if wanted("SPECTOR_NO_NATIVE"):
        return []
    return ["native/build.py:ffi"]


setup(cffi_modules=native_modules(), cmdclass={"build_ext": OptionalBuild})
