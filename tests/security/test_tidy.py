"""What the product never does: run data, start programs, talk to the network, show secrets.

Mechanism: the syntax tree of every module, and Python's own audit events while a store lives
through its verbs. Damage without it: a recall that phones home, a key in a log. Guard: each rule is
shown a source that breaks it, and the listener is shown a connection that it must hear.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from spector import EmbeddingError, OpenAIEmbedder
from tests.providers.wire import Reply, WireServer
from tests.test_layers import MODULES, REPO
from tests.trees import nodes_of, tree_of

#: the one module that may talk to a server, through the client library that it imports late
MAY_TALK = ("spector/providers/openai.py", "spector/providers/openai.py")
#: the one module that awaits; its loop is the caller's, and it opens no connection
AWAITS = ("spector/asynchronous.py", "asyncio")
NETWORK = frozenset(
    "aiohttp asyncio ftplib http httplib2 httpx imaplib nntplib openai poplib requests smtplib "
    "socket socketserver ssl telnetlib urllib3 websockets xmlrpc".split()
)
PROGRAMS = frozenset({"multiprocessing", "pexpect", "pty", "subprocess"})
UNSAFE_PARSERS = frozenset({"dill", "jsonpickle", "marshal", "pickle", "ruamel", "shelve", "yaml"})
OS_PROGRAMS = ("exec", "popen", "posix_spawn", "spawn", "startfile", "system")


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((node.lineno, f"{module}.{name.name}") for name in names)


def forbidden(tree: ast.AST, module: str) -> list[str]:
    """Lines that run data, start programs or talk to the network."""
    out = []
    for line, name in imported(tree):
        top = name.split(".")[0]
        talks = top in NETWORK or (name.startswith("urllib.") and "parse" not in name)
        talks = talks and module not in MAY_TALK and (module, top) != AWAITS
        if talks or top in PROGRAMS | UNSAFE_PARSERS:
            out.append(f"{module}:{line}: import {name}")
    for node in nodes_of(tree):
        match node:
            case ast.Call(func=ast.Name(id="eval" | "exec" | "compile" | "__import__" as called)):
                out.append(f"{module}:{node.lineno}: {called}()")
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr.startswith(OS_PROGRAMS):
                out.append(f"{module}:{node.lineno}: os.{attr}")
            case ast.Attribute(attr="load_extension" | "enable_load_extension" as attr):
                out.append(f"{module}:{node.lineno}: .{attr}")
            case ast.keyword(arg="shell" | "allow_pickle" as arg, value=value) if not (
                isinstance(value, ast.Constant) and value.value is False
            ):
                out.append(f"{module}:{node.lineno}: {arg}=")
    return out


def test_no_module_runs_data_starts_programs_or_talks_to_the_network() -> None:
    found = [each for module in MODULES for each in forbidden(tree_of(module), module)]
    assert found == []
    assert len(MODULES) > 100


@pytest.mark.parametrize(
    "source",
    (
        "import pickle | from marshal import loads | import shelve | "
        "import yaml; yaml.load(x) | eval(x) | exec(x) | compile(x, '', 'exec') | "
        "__import__(x) | os.system(x) | os.popen(x) | os.execvp(x, y) | "
        "import subprocess | run(x, shell=True) | np.load(x, allow_pickle=True) | "
        "np.load(x, allow_pickle=y) | import socket | "
        "from http.client import HTTPConnection | import urllib.request | "
        "from urllib import request | import httpx | import openai | "
        "db.enable_load_extension(True)"
    ).split(" | "),
)
def test_the_rule_sees_what_breaks_it(source: str) -> None:
    assert forbidden(ast.parse(source), "spector/somewhere.py")


@pytest.mark.parametrize(
    "source", ["from urllib.parse import quote", "os.environ", "re.compile(x)", "import ssl_free"]
)
def test_the_rule_lets_honest_code_pass(source: str) -> None:
    assert forbidden(ast.parse(source), "spector/somewhere.py") == []


# -- a run that is listened to ---------------------------------------------------------------------

LISTEN = """
import json, sys
heard = []
EVENTS = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "urllib.",
          "ftplib.", "smtplib.", "http.", "pickle.find_class", "sqlite3.enable_load_extension",
          "sqlite3.load_extension", "webbrowser.")
def listen(event, args):
    if event.startswith(EVENTS):
        heard.append(event + " " + repr(args)[:200])
sys.addaudithook(listen)
"""

LIFE = """
import spector
with spector.open(sys.argv[1]) as memory:
    made = memory.remember_many(["Maya lives in Lisbon", "Jonas deploys on Tuesdays"], tags=["a"])
    assert memory.recall("where does Maya live?", k=1)[0].id == made[0].id
    memory.update(made[1].id, text="Jonas deploys on Mondays")
    memory.reflect()
    memory.forget(made[1].id, purge=True, verify=True)
    memory.export(sys.argv[1] + ".jsonl")
    memory.backup(sys.argv[1] + ".copy")
    assert memory.check().ok
with spector.open(sys.argv[1], mode="r") as memory:
    memory.recall("Maya")
"""


def listened(code: str, where: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTEN + code + "\nprint(json.dumps(heard))", str(where / "mind")],
        cwd=where,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    heard: list[str] = json.loads(done.stdout.splitlines()[-1])
    return heard


def test_a_store_with_the_offline_model_opens_no_socket_and_starts_no_program(
    tmp_path: Path,
) -> None:
    assert listened(LIFE, tmp_path) == []


def test_the_offline_model_reports_nothing_and_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    """onnxruntime's own reports, which no audit hook of Python hears: they leave an identifier."""
    code = "from spector.providers import MiniLMEmbedder\nMiniLMEmbedder().embed(['Maya'])"
    home = tmp_path / "home"
    home.mkdir()
    # neither what a test run nor what an automatic build sets, as it would hold the reports back
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**kept, "HOME": str(home), "PYTHONPATH": str(REPO)},
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in home.rglob("*")] == []


def test_importing_and_asking_for_every_public_name_opens_no_socket(tmp_path: Path) -> None:
    code = "import spector\nfor name in spector.__all__: getattr(spector, name)"
    assert listened(code, tmp_path) == []


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket()",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
    ],
)
def test_the_listener_hears_what_it_is_there_for(code: str, tmp_path: Path) -> None:
    assert listened(code, tmp_path)


# -- secrets ---------------------------------------------------------------------------------------

KEY = "sk-zqvery-secret-0123456789"


def everything_shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + str(error) + repr(error)


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_that_a_server_quotes_is_in_no_error(status: int) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY}}
    with WireServer() as server:
        server.script = [Reply(status=status, body=body)]
        embedder = OpenAIEmbedder(
            "some-model", dimensions=8, api_key=KEY, base_url=server.url, max_retries=0
        )
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed(["x"])
        assert KEY in server.headers[0]["authorization"], "the server was sent another key"
    assert KEY not in everything_shown(caught.value)
    assert KEY not in repr(embedder)


def test_a_key_of_the_environment_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with WireServer() as server:
        server.script = [Reply(status=401, body={"error": {"message": f"bad: {KEY}"}})]
        embedder = OpenAIEmbedder("some-model", dimensions=8, base_url=server.url, max_retries=0)
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed(["x"])
    assert KEY not in everything_shown(caught.value)
