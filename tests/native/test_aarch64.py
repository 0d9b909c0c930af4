"""Mechanism: the kernel compiled for aarch64, called by an aarch64 Python in an emulator.

Damage: the wheel for ARM ranks differently, or its calls from Python were never made. Guard: the
tests that compare the backends run there. It needs qemu-user-static, gcc-aarch64-linux-gnu and
libc6-dev-arm64-cross of Debian 12, and fetches the rest.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.test_isa import ROOT, tool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

#: a Python and what it is linked with
_PYTHON = """
    python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev libc6 libexpat1
    zlib1g libffi8 libsqlite3-0 libssl3 libbz2-1.0 liblzma5 libgcc-s1 libstdc++6 libuuid1
"""
_WHEELS = (
    "numpy>=2 mmh3>=5 cffi>=1.17 PyStemmer tqdm tzdata pytest>=9,<10 pytest-timeout hypothesis"
)
_TESTS = """
    tests/kernel/test_backends_agree.py tests/kernel/test_lexical_calls.py
    tests/kernel/test_neighbours.py tests/kernel/test_index_bounds.py tests/kernel/test_scan_index.py
"""
_EMIT = """
from native.build import SOURCES, compile_args, ffi
ffi.emit_c_code("native/_native.c")
print(*compile_args()[0], "-Inative", *SOURCES, "native/_native.c")
"""


def done(command: list[str], folder: Path, **env: str) -> str:
    run = subprocess.run(
        command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return run.stdout


def unpack_packages(folder: Path) -> Path:
    """The root of an aarch64 system with a Python, beside the packages of this machine."""
    for name in ("lists/partial", "cache/archives/partial", "debs", "root"):
        (folder / name).mkdir(parents=True)
    at = {"State::lists": "lists", "Cache": "cache", "State::status": "status"}
    options = [f"-oDir::{name}={folder / place}" for name, place in at.items()]
    options += ["-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64"]
    apt = [tool("apt-get"), *options]
    (folder / "status").touch()
    asked = subprocess.run([*apt, "update"], capture_output=True, text=True, check=False)
    got = [*apt, "download", *_PYTHON.split()]
    if asked.returncode or subprocess.run(got, cwd=folder / "debs", capture_output=True).returncode:
        pytest.skip("apt-get reaches no packages of Debian 12 for arm64")
    for package in (folder / "debs").iterdir():
        done([tool("dpkg"), "-x", str(package), str(folder / "root")], folder)
    return folder / "root"


def build_for_aarch64(tree: Path, root: Path, compiler: str) -> None:
    """The extension, compiled as its wheel is."""
    arguments = shlex.split(done([sys.executable, "-c", _EMIT], tree).splitlines()[-1])
    include = [f"-I{root / 'usr/include'}", f"-I{root / 'usr/include/python3.11'}"]
    made = ["-shared", "-fPIC", "-DPy_LIMITED_API=0x030b0000", "-o", "spector/_native.abi3.so"]
    done([compiler, *made, *include, *arguments], tree)


def test_the_backends_agree_on_aarch64(tmp_path: Path) -> None:
    if sys.platform != "linux" or platform.machine() == "aarch64":
        pytest.skip("the emulator is for Linux on another processor")
    emulator = tool("qemu-aarch64", "qemu-aarch64-static")
    compiler = tool("aarch64-linux-gnu-gcc")
    root, tree, site = unpack_packages(tmp_path), tmp_path / "tree", tmp_path / "site"
    for name in ("spector", "native", "tests"):
        without = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=without)
    shutil.copy(ROOT / "pyproject.toml", tree)
    build_for_aarch64(tree, root, compiler)
    platforms = [f"--platform=manylinux_2_{glibc}_aarch64" for glibc in (17, 28)]
    wheels = ["--python-version=3.11", "--only-binary=:all:", f"--target={site}", *_WHEELS.split()]
    done([sys.executable, "-m", "pip", "install", "--quiet", *platforms, *wheels], tmp_path)
    python = [emulator, "-L", str(root), str(root / "usr/bin/python3.11")]
    paths = {"PYTHONPATH": f"{site}:{tree}", "SPECTOR_KERNEL": "native"}
    known = "from spector.kernel.dispatch import kernel_info as k; print(k()['isa'])"
    assert done([*python, "-c", known], tree, **paths) == "neon+dotprod\n"
    pytest_ = [*python, *"-m pytest -q -p no:cacheprovider -o timeout=0".split()]
    said = done([*pytest_, "-m", "not slow", *_TESTS.split()], tree, **paths)
    assert re.search(r"\d+ passed", said)
