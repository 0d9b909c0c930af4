"""What arrives on a user's machine, and what importing it costs.

Mechanism: a copy of the tree is built into a source distribution and wheels, without the network,
and the result is unpacked and run. Damage without it: a wheel that lacks the vocabulary, an install
that dies where there is no compiler, an import that drags in a model runtime. Guard: the archives'
own listings and fresh interpreters, never the state of this process.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import spector
from spector._version import __version__

REPO = Path(__file__).resolve().parent.parent
HEAVY = ("httpx", "httpx2", "llvmlite", "numba", "onnxruntime", "openai", "pydantic", "tokenizers")
NEVER_IN_A_COPY = shutil.ignore_patterns(
    ".*", "__pycache__", "*.so", "*.egg-info", "build", "dist", "_native.c"
)


def run(*argv: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    # what a developer pinned or forced for this run must not decide what a user gets
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SPECTOR_")}
    return subprocess.run(
        argv, cwd=cwd, env={**clean, **env}, capture_output=True, text=True, check=False
    )


def python(code: str, cwd: Path, **env: str) -> str:
    # an editable install offers the tree's own modules, _native above all, wherever the path has
    # none; what is tested here is what the path has
    alone = (
        "import sys; sys.meta_path[:] = "
        "[f for f in sys.meta_path if 'editable' not in getattr(f, '__module__', '')]; "
    )
    done = run(sys.executable, "-c", alone + code, cwd=cwd, **env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def build(kind: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the build backend as pip would, in a copy of the tree; archives land in ``out``."""
    tree = tmp_path / "tree"
    shutil.copytree(REPO, tree, ignore=NEVER_IN_A_COPY, dirs_exist_ok=True)
    (tmp_path / "out").mkdir(exist_ok=True)
    code = f"from setuptools import build_meta as b; b.build_{kind}({str(tmp_path / 'out')!r})"
    return run(sys.executable, "-c", code, cwd=tree, **env)


def built(tmp_path: Path, done: subprocess.CompletedProcess[str], suffix: str) -> Path:
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (archive,) = (tmp_path / "out").glob(f"*{suffix}")
    return archive


# -- what importing does ---------------------------------------------------------------------------


def test_import_spector_loads_no_model_runtime_and_no_compiler(tmp_path: Path) -> None:
    code = f"import sys, spector; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert python(code, tmp_path, PYTHONPATH=str(REPO)) == "[]"


def test_import_of_the_command_line_is_light_too(tmp_path: Path) -> None:
    code = f"import sys, spector.cli.main; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert python(code, tmp_path, PYTHONPATH=str(REPO)) == "[]"


def test_the_command_loads_what_it_needs_when_a_command_runs(tmp_path: Path) -> None:
    """Damage without it: half a second before ``spector --help`` says anything."""
    code = (
        "import sys, spector.cli.main;"
        "print(sorted({'numpy', 'sqlite3', 'mmh3', 'numba', 'onnxruntime'} & sys.modules.keys()))"
    )
    assert python(code, tmp_path, PYTHONPATH=str(REPO)) == "[]"


#: what importing the package does without
UNOPENED = ("dataclasses", "inspect", "logging")
#: what opening a store, remembering and recalling do without
UNUSED = tuple(
    (
        "spector.language.frames spector.language.worth spector.language.observing "
        "spector.kernel.reference spector.knowledge.reading spector.observe.observer "
        "spector.sleep.cycle spector.sleep.night spector.store.backup "
        "spector.store.repair"
    ).split()
)


def test_the_package_and_a_store_load_what_they_use_and_no_more(tmp_path: Path) -> None:
    """Damage without it: within two days a first recall in a process took twice as long."""
    code = (
        "import sys, spector;"
        f"early = [m for m in {UNOPENED!r} if m in sys.modules];"
        "memory = spector.open('mind', embedder=None, dim=4);"
        "memory.remember('tea', vector=[1, 0, 0, 0]);"
        "memory.recall('a cup of tea', vector=[1, 0, 0, 0]);"
        f"print(early, [m for m in {UNUSED!r} if m in sys.modules]); memory.close()"
    )
    assert python(code, tmp_path, PYTHONPATH=str(REPO)) == "[] []"


def test_training_without_its_extra_names_it_in_one_line() -> None:
    code = (
        "import runpy, sys; sys.modules['torch'] = None;"
        "runpy.run_module('bench.judge.train', run_name='__main__')"
    )
    done = run(sys.executable, "-c", code, cwd=REPO)
    assert (done.returncode, done.stderr) == (
        1,
        'training needs torch: pip install -e ".[train]"\n',
    )


def test_every_public_name_exists_and_is_listed_once() -> None:
    assert sorted(set(spector.__all__)) == sorted(spector.__all__)
    missing = [name for name in spector.__all__ if not hasattr(spector, name)]
    assert missing == []


def test_nothing_public_is_missing_from_the_list() -> None:
    own = {
        name
        for name, value in vars(spector).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "").startswith("spector")
    }
    assert own - set(spector.__all__) == set()


def test_type_checkers_read_the_same_names() -> None:
    """The stub re-exports each public name, and from where it is."""
    stub = ast.parse((REPO / "spector" / "__init__.pyi").read_text(encoding="utf-8"))
    found = {
        each.asname: getattr(importlib.import_module(node.module or ""), each.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    assert sorted(map(str, found)) == sorted(spector.__all__)
    assert [name for name, value in found.items() if value is not getattr(spector, str(name))] == []


def test_dir_shows_the_public_names() -> None:
    assert set(spector.__all__) <= set(dir(spector))


def test_the_version_is_the_same_everywhere() -> None:
    assert spector.__version__ == __version__
    assert f"## [{__version__}]" in (REPO / "CHANGELOG.md").read_text(encoding="utf-8")


def test_installed_metadata_names_this_version() -> None:
    try:
        installed = importlib.metadata.version("spector-memory")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("spector runs from the tree without being installed")
    assert installed == __version__


def test_the_console_script_points_at_something_callable() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["scripts"]["spector"].split(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_command_prints_its_help(tmp_path: Path) -> None:
    code = "import sys; from spector.cli.main import main; sys.exit(main(['--help']))"
    assert "recall" in python(code, tmp_path, PYTHONPATH=str(REPO))


def test_ci_can_run_its_script() -> None:
    assert os.access(REPO / ".ci" / "run", os.X_OK)


# -- what is built ---------------------------------------------------------------------------------


def package_files() -> set[str]:
    """The modules and data files of the tree, as paths inside a wheel."""
    files = {path for path in (REPO / "spector").rglob("*.py") if "__pycache__" not in path.parts}
    for folder in ("providers/data", "cli/data"):
        files |= {path for path in (REPO / "spector" / folder).rglob("*") if path.is_file()}
    files = {path for path in files if "__pycache__" not in path.parts}
    typed = {"spector/py.typed", "spector/__init__.pyi"}
    return {path.relative_to(REPO).as_posix() for path in files} | typed


def test_the_source_distribution_carries_c_sources_tests_and_licences(tmp_path: Path) -> None:
    archive = built(tmp_path, build("sdist", tmp_path), ".tar.gz")
    with tarfile.open(archive) as tar:
        inside = {name.partition("/")[2] for name in tar.getnames()}
    native = {p.relative_to(REPO).as_posix() for p in (REPO / "native").glob("*.[ch]")}
    assert native, "no C sources in the tree"
    expected = (
        package_files()
        | native
        | set(
            (
                "CHANGELOG.md LICENSE Makefile NOTICE README.md native/FORMAT.md "
                "native/build.py pyproject.toml setup.py tests/conftest.py"
            ).split()
        )
    )
    assert expected - inside == set()
    assert not [name for name in inside if name.endswith((".so", ".pyc", "_native.c"))]


def test_installing_without_a_compiler_falls_back_to_numba(tmp_path: Path) -> None:
    done = build("wheel", tmp_path, CC="/nonexistent/cc")
    wheel = built(tmp_path, done, ".whl")
    assert "umba" in done.stdout + done.stderr, "the build does not say which kernel will serve"
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    assert package_files() - inside == set()
    assert [name for name in inside if name.startswith("spector/providers/data/vocab")]
    assert not [name for name in inside if "_native" in name]
    top = {name.split("/")[0] for name in inside}
    assert top == {"spector", f"spector_memory-{__version__}.dist-info"}
    licences = {name.rpartition("/")[2] for name in inside if ".dist-info/licenses/" in name}
    assert {"LICENSE", "NOTICE"} <= licences
    assert "Requires-Dist: numba>=0.61\n" in metadata_of(wheel)

    code = (
        "import spector; from spector.kernel.dispatch import kernel_info; "
        "print(spector.__file__, kernel_info()['name'])"
    )
    site = tmp_path / "site"
    where = python(code, tmp_path, PYTHONPATH=str(site))
    assert where == f"{site / 'spector' / '__init__.py'} numba"


def metadata_of(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("dist-info/METADATA"))
        return archive.read(name).decode("utf-8")


def test_metadata_ask_for_numba_only_where_nothing_compiles(tmp_path: Path) -> None:
    """Mechanism: pip reads what is needed before anything is built."""
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\nexit "${CC_FAILS:-0}"\n', encoding="utf-8")
    script.chmod(0o755)
    code = "from setuptools import build_meta as b; print(b.prepare_metadata_for_build_wheel('.'))"
    tree = tmp_path / "tree"
    shutil.copytree(REPO, tree, ignore=NEVER_IN_A_COPY, dirs_exist_ok=True)
    for fails, needs in (("0", 0), ("1", 1)):
        done = run(sys.executable, "-c", code, cwd=tree, CC=str(script), CC_FAILS=fails)
        assert done.returncode == 0, done.stderr
        metadata = (tree / done.stdout.splitlines()[-1] / "METADATA").read_text(encoding="utf-8")
        assert metadata.count("Requires-Dist: numba>=0.61\n") == needs
        assert metadata.count("Dynamic: requires-dist\n") == 1
        assert "Requires-Dist: openai" not in metadata.replace(
            'Requires-Dist: openai<4,>=1.109; extra == "openai"', ""
        )


def test_a_required_kernel_that_does_not_compile_fails_the_build(tmp_path: Path) -> None:
    done = build("wheel", tmp_path, CC="/nonexistent/cc", SPECTOR_REQUIRE_NATIVE="1")
    assert done.returncode != 0
    assert not list((tmp_path / "out").glob("*.whl"))


@pytest.mark.slow
def test_a_build_that_asks_for_no_native_code_gives_a_wheel_for_every_platform(
    tmp_path: Path,
) -> None:
    wheel = built(tmp_path, build("wheel", tmp_path, SPECTOR_NO_NATIVE="1"), ".whl")
    assert wheel.name == f"spector_memory-{__version__}-py3-none-any.whl"


@pytest.mark.slow
@pytest.mark.parametrize("hasty", [pytest.param(True, id="hasty"), pytest.param(False, id="whole")])
def test_a_compiled_wheel_runs_its_own_kernel_from_any_folder(hasty: bool, tmp_path: Path) -> None:
    compiler = os.environ.get("CC") or "cc"
    if not (shutil.which(shlex.split(compiler)[0]) or shutil.which("gcc")):
        pytest.skip("no C compiler")
    env = {}
    if hasty and shutil.which(shlex.split(compiler)[0]):  # what is tested is the package
        script = tmp_path / "cc"
        script.write_text(f'#!/bin/sh\nexec {compiler} "$@" -O0\n')
        script.chmod(0o755)
        env["CC"] = shlex.quote(str(script))
    done = build("wheel", tmp_path, SPECTOR_REQUIRE_NATIVE="1", **env)
    wheel = built(tmp_path, done, ".whl")
    assert "-abi3-" in wheel.name
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = "import spector._native as n; print(n.__file__)"
    assert python(code, tmp_path, PYTHONPATH=str(site)).startswith(str(site))


# -- what lies over it -----------------------------------------------------------------------------


def test_a_distribution_of_the_same_name_is_noticed(tmp_path: Path) -> None:
    """The short name on the index is a stranger's, whose package has the same import name."""
    site = tmp_path / "site"
    shutil.copytree(
        REPO / "spector", site / "spector", ignore=shutil.ignore_patterns("__pycache__")
    )
    use = (
        "import warnings, spector\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2): spector.open(':memory:', embedder=None, dim=2).close()\n"
        "print(*(each.message for each in said))"
    )
    doctor = "from spector.cli.main import main; print(main(['doctor', '--json']))"
    assert python(use, tmp_path, PYTHONPATH=str(site)) == ""
    for name in ("spector_memory", "spector"):
        info = site / f"{name}-0.9.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name.replace('_', '-')}\nVersion: 0.9.0\n")
        (info / "RECORD").write_text("spector/__init__.py,,\nspector/api.py,,\nother.py,,\n")
        said, told = (python(each, tmp_path, PYTHONPATH=str(site)) for each in (use, doctor))
        if name == "spector_memory":
            assert said == ""
            assert told.endswith("\n0")
        else:
            assert said.count("spector 0.9.0: 2 files (spector/__init__.py, spector/api.py)") == 1
            assert "pip uninstall spector spector-memory" in told
            assert told.endswith("\n1")
    # what removes only the stranger's takes along what both have
    shutil.rmtree(site / "spector-0.9.0.dist-info")
    (site / "spector" / "api.py").unlink()
    told = python(doctor, tmp_path, PYTHONPATH=str(site))
    assert "spector-memory 0.9.0 without: 1 files (spector/api.py)" in told
    assert told.endswith("\n1")
