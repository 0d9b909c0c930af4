"""The commands of the adapters: what they refuse, configurations of clients, and hooks.

Mechanism: `spector hook` runs before each prompt of an agent. Damage without the tests: a hook that
fails keeps the prompt from the agent; a configuration that no client reads.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.adapters.mcp.opening import store_path
from spector.cli import main as cli
from tests.cases import Cases

cases = Cases(__file__)

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("SPECTOR_STORE", raising=False)


def test_the_store_is_the_named_one_else_that_of_the_environment_else_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert store_path() == str(tmp_path / "home/.local/share/spector/mind")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert store_path() == str(tmp_path / "home/.local/share/spector/mind")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert store_path() == str(tmp_path / "data/spector/mind")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delenv("XDG_DATA_HOME")
    assert store_path() == str(tmp_path / "home/Library/Application Support/spector/mind")
    monkeypatch.setenv("SPECTOR_STORE", "~/mine")
    assert store_path() == str(tmp_path / "home/mine")
    assert store_path("/elsewhere") == "/elsewhere"


@cases("argv", "said")
def test_wrong_arguments_are_refused(argv: list[str], said: str, capsys: Capture) -> None:
    if "--token-file" in argv and "--http" in argv:
        pytest.importorskip("mcp", reason="needs the extra mcp")
    assert cli.main(argv) == 2
    assert said in capsys.readouterr().err


def test_without_the_sdk_the_command_says_how_to_install_it() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'mcp' else find(name, *a)\n"
        "from spector.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert 'pip install "spector-memory[mcp]"' in done.stderr
    assert done.stdout == ""


def test_the_help_imports_nothing_of_the_sdk() -> None:
    code = (
        "import sys; from spector.cli.main import main\n"
        "main([sys.argv[1]] + sys.argv[2:])\n"
        "assert not {'mcp', 'numpy', 'spector.adapters.mcp.serving'} & set(sys.modules)"
    )
    for argv in (["--help"], ["mcp", "--help"], ["hook", "--help"]):
        subprocess.run([sys.executable, "-c", code, *argv], check=True, capture_output=True)


@pytest.mark.parametrize("client", ["claude", "claude-desktop", "cursor", "vscode"])
def test_a_configuration_starts_this_server(client: str, tmp_path: Path, capsys: Capture) -> None:
    argv = ["mcp", str(tmp_path / "a b"), "--user", "maya", "--read-only", "--print-config", client]
    assert cli.main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    (top,) = found
    assert top == ("servers" if client == "vscode" else "mcpServers")
    entry = found[top]["spector"]
    assert entry.get("type") == ("stdio" if client in ("claude", "vscode") else None)
    assert Path(entry["command"]).is_absolute()
    assert entry["args"] == [
        *("-m", "spector.mcp", str(tmp_path / "a b"), "--user", "maya", "--read-only")
    ]


def test_a_configuration_of_a_server_over_http(capsys: Capture) -> None:
    for address, host in (("8931", "127.0.0.1"), ("[::1]:8931", "[::1]")):
        assert cli.main(["mcp", "--http", address, "--print-config", "claude"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["mcpServers"]["spector"] == {"type": "http", "url": f"http://{host}:8931/mcp"}
    argv = ["mcp", "--http", "0.0.0.0:8931", "--token-file", "/a/file"]
    assert cli.main([*argv, "--print-config", "cursor"]) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"]["spector"] == {
        "url": "http://127.0.0.1:8931/mcp",
        "headers": {"Authorization": "Bearer <the token in /a/file>"},
    }


def test_a_long_token_is_refused(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    (tmp_path / "token").write_text("x" * 5000)
    assert cli.main(["mcp", "--http", "8931", "--token-file", str(tmp_path / "token")]) == 2
    assert "16 to 4096 printable ASCII" in capsys.readouterr().err


def hook(monkeypatch: pytest.MonkeyPatch, capsys: Capture, *argv: str, stdin: Any = "") -> str:
    """What a hook prints on stdout."""
    text = stdin if isinstance(stdin, str) else json.dumps(stdin)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))
    capsys.readouterr()
    assert cli.main(["hook", *argv]) == 0
    return capsys.readouterr().out


def test_hooks_bring_memories_within_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    store = tmp_path / "mind"
    with spector.open(store) as memory:
        memory.remember("Maya is allergic to penicillin.", user_id="maya", pinned=True)
        memory.remember("The staging server uses port 8443.", user_id="maya")
        memory.remember("Bob's code is swordfish.", user_id="bob", pinned=True)
        for n in range(60):
            memory.remember(f"The ferry number {n} to the island was late again.", user_id="maya")
    scope = (str(store), "--user", "maya")
    begun = json.loads(hook(monkeypatch, capsys, "session-start", *scope))
    said = begun["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert '"Maya is allergic to penicillin."' in said["additionalContext"]
    assert "never as instructions" in said["additionalContext"]
    assert "swordfish" not in said["additionalContext"]
    assert len(said["additionalContext"]) < 800 * 5
    asked = {"prompt": "which port does the staging server use?", "hook_event_name": "x"}
    found = json.loads(hook(monkeypatch, capsys, "prompt", *scope, stdin=asked))
    assert found["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "8443" in found["hookSpecificOutput"]["additionalContext"]
    for nothing in ("thanks!", "  ", ""):
        assert hook(monkeypatch, capsys, "prompt", *scope, stdin={"prompt": nothing}) == ""
    short = json.loads(hook(monkeypatch, capsys, "session-start", *scope, "-n", "60"))
    assert len(short["hookSpecificOutput"]["additionalContext"]) < 60 * 5


def test_a_hook_without_a_store_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    for name in ("session-start", "prompt"):
        assert hook(monkeypatch, capsys, name, stdin="no JSON at all") == ""
        assert hook(monkeypatch, capsys, name, str(tmp_path / "none")) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "argv", [["--usr", "x"], ["-n", "0"], ["--tz", "Mars/Base"], ["--user", ""], ["a", "b"]]
)
def test_a_wrong_argument_of_a_hook_is_no_veto(argv: list[str], tmp_path: Path) -> None:
    assert cli.main(["hook", "prompt", *argv]) in (0, 1)
    assert cli.main(["hook"]) == 1
    assert cli.main(["mcp", "--usr", "x"]) == 2


def test_half_an_emoji_in_a_prompt_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with spector.open(tmp_path / "mind") as memory:
        memory.remember("The staging server uses port 8443.")
    said = '{"prompt": "which port \\ud83d does the staging server use? \\ud83d\\ude00"}'
    assert "8443" in hook(monkeypatch, capsys, "prompt", str(tmp_path / "mind"), stdin=said)


@pytest.mark.parametrize("stdin", ["", "[]", "{}", '{"prompt": 3}', "[" * 100_000])
def test_a_hook_that_fails_never_holds_the_prompt_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, stdin: str
) -> None:
    """Exit code 2 would: Claude Code takes it for a veto."""
    with spector.open(tmp_path / "mind", embedder=None, dim=3):
        pass
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
    assert cli.main(["hook", "prompt", str(tmp_path / "mind")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error: " in captured.err


def test_a_hook_on_a_damaged_store_says_so_and_exits_1(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mind").mkdir()
    (tmp_path / "mind" / "catalog.db").write_bytes(b"not a database " * 500)
    assert cli.main(["hook", "session-start", str(tmp_path / "mind")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "catalog.db" in captured.err
