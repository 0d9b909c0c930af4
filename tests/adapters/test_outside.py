"""Suites and clients that others made, run against the server; only in ``make test-adapters``.

Mechanism: a protocol is what its clients do. Damage without it: the server passes our own tests and
no agent connects to it. What cannot be had here is skipped with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.make_bundle import manifest
from tests.test_layers import REPO

#: the folder that ``make test-adapters`` fills
_HOME = os.environ.get("SPECTOR_ADAPTERS")
pytestmark = [
    pytest.mark.skipif(_HOME is None, reason="others' suites: only in make test-adapters"),
    pytest.mark.timeout(600),
]
HOME = Path(_HOME or "/nonexistent").absolute()
MODULES = HOME / "node_modules"
NODE = MODULES / "node" / "bin" / "node"
CONFORMANCE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
MCPB = MODULES / "@anthropic-ai/mcpb/dist/cli/cli.js"
PYTHON = HOME / "venv" / "bin" / "python"

#: revision -> checks that pass, and scenarios that may fail: none of them counts for the revision
REVISIONS = {
    "2025-11-25": (81, re.compile(r"server-sse-polling")),  # needs a server that keeps events
    "2026-07-28": (144, re.compile(r"tasks-.*")),
}


def needed(*paths: Path) -> None:
    for each in paths:
        if not each.exists():
            pytest.skip(f"{each.relative_to(HOME)} could not be installed (see make test-adapters)")


@pytest.fixture
def fixtures(tmp_path: Path) -> Iterator[str]:
    """Address of a server with our tools and those of the suite."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.fixtures", str(tmp_path / "mind"), "8967"],
        cwd=REPO,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5)
        except urllib.error.HTTPError:
            break  # it answers
        except OSError:
            time.sleep(0.1)
    yield url
    process.terminate()
    process.wait(20)
    process.stdout.close()


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_conformance_suite(revision: str, fixtures: str, tmp_path: Path) -> None:
    needed(NODE, CONFORMANCE)
    asked = ["server", "--url", fixtures, "--requirements", revision, "--output-dir", "out"]
    done = subprocess.run(
        [NODE, CONFORMANCE, *asked], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    found = re.findall(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    least, unscored = REVISIONS[revision]
    failed = [name for name, _, count in found if int(count) and not unscored.fullmatch(name)]
    assert failed == []
    assert done.returncode == 0
    assert sum(int(n) for name, n, _ in found if not unscored.fullmatch(name)) >= least


def inspected(store: Path, *asked: str) -> dict[str, Any]:
    command = [NODE, INSPECTOR, "--cli", sys.executable, "-m", "spector.mcp", store, *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_inspector_calls_every_tool(tmp_path: Path) -> None:
    needed(NODE, INSPECTOR)
    store = tmp_path / "mind"

    def called(tool: str, *arguments: str) -> dict[str, Any]:
        given = [part for each in arguments for part in ("--tool-arg", each)]
        found = inspected(store, "--method", "tools/call", "--tool-name", tool, *given)
        assert found["isError"] is False, found
        structured: dict[str, Any] = found["structuredContent"]
        return structured

    listed = {each["name"] for each in inspected(store, "--method", "tools/list")["tools"]}
    (made,) = called("remember", "text=Ada prefers tea.", 'tags=["drinks"]')["ids"]
    assert called("recall", "query=what does Ada drink?")["memories"][0]["id"] == made
    assert called("list_memories", "limit=5")["memories"][0]["tags"] == ["drinks"]
    assert called("get_memory", f"id={made}")["memory"]["text"] == "Ada prefers tea."
    called("correct_memory", f"id={made}", "text=Ada prefers coffee.")
    assert called("memory_status")["memories"] == 1
    assert called("forget", f"ids=[{made}]", "dry_run=false")["done"] is True
    assert listed == {
        *("remember", "recall", "list_memories", "get_memory", "correct_memory", "forget"),
        "memory_status",
    }


def test_the_manifest_of_the_bundle_is_valid(tmp_path: Path) -> None:
    needed(NODE, MCPB)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(manifest("spector_memory-1-cp311-abi3-linux_x86_64.whl")))
    done = subprocess.run([NODE, MCPB, "validate", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


#: the commands of the manual
_COMMANDS = re.compile(r"```sh\n(pip install .*?)```", re.DOTALL)


def test_three_commands_lead_to_a_memory_in_claude_code(tmp_path: Path) -> None:
    """As the manual has them, but that the distribution is this checkout's."""
    needed(PYTHON)
    (claude,) = (HOME / "venv/lib").glob("python*/site-packages/claude_agent_sdk/_bundled/claude")
    page = (REPO / "docs/manual/mcp.md").read_text(encoding="utf-8")
    found = _COMMANDS.search(page)
    assert found is not None
    install, add, shown = found[1].splitlines()
    assert install == 'pip install "spector-memory[mcp]"'  # done for this environment
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").symlink_to(claude)
    path = f"{folder}:{PYTHON.parent}:/usr/bin:/bin"
    environment = {"HOME": str(tmp_path), "PATH": path}

    def said(command: str) -> str:
        done = subprocess.run(
            command, shell=True, env=environment, cwd=tmp_path, capture_output=True, text=True,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Added stdio MCP server spector" in said(add)
    assert re.search(r"^spector: .*✔ Connected", said(shown), re.MULTILINE)
    printed = said("spector mcp --user maya --print-config claude")
    (tmp_path / ".mcp.json").write_text(printed)
    kept = json.loads(printed)["mcpServers"]["spector"]
    as_json = json.dumps(kept).replace("'", "'\\''")
    said(f"claude mcp add-json other --scope user '{as_json}'")
    assert re.search(r"^other: .*✔ Connected", said(shown), re.MULTILINE)
    assert shutil.which("spector", path=path)
