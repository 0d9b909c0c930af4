"""The rules of the house that a linter does not know.

Mechanism: the syntax tree of every module under spector/ is read for calls that belong to one
module only. Damage without it: a fault-injection test that misses a write made elsewhere, a recall
that answers differently because something asked the real clock. Guard: each rule is also shown a
source text that breaks it.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.trees import nodes_of, tree_of

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "spector"
MODULES = sorted(path.relative_to(REPO).as_posix() for path in PACKAGE.rglob("*.py"))

#: folder or module -> why it may touch files beside spector/store/files/disk.py
MAY_TOUCH_FILES = {
    "spector/store/files/disk.py": "it is the seam",
    "spector/store/files/protocol.py": "asks whether a file is missing",
    "spector/store/files/syncing.py": "syncs what disk.py has opened",
    "spector/store/sqlite/wal_frames.py": "looks at what lies beside a catalog before SQLite opens it",
    "spector/store/files/text_files.py": "writes the files that a user names: exports",
    "spector/store/backup/destination.py": "looks at what is in the way of a copy, and gives directories their names",
    "spector/store/opening/opening.py": "looks at what is at a path that is no store",
    "spector/store/files/lock.py": "a lock lives in a descriptor, not in bytes",
    "spector/process/locks.py": "a turn is a lock of a directory, and a cycle of sleep one of a byte of a file",
    "spector/process/installation.py": "reads what is installed beside the package",
    "spector/process/safe_open.py": "opens what a user has named, if it is a file",
    "spector/adapters/mcp/transports.py": "reads the token's file, and ends its process",
    "spector/importers/": "reads the files that a user names",
    "spector/cli/": "reads and writes the files a user names: imports, exports, the demo's folder",
    "spector/providers/": "reads its own data files and the model",
    "spector/language/tables/files.py": "reads the word tables of the languages",
    "spector/config/settings.py": "lists the folders of languages",
    "spector/kernel/jit/compile.py": "reads the sources that compiled code was made from",
}

#: what of os is about the process and not about files
HARMLESS_OS = frozenset(
    "PathLike cpu_count devnull environ fsdecode fsencode fspath getenv getpid linesep name path "
    "process_cpu_count register_at_fork sched_getaffinity sep strerror urandom".split()
)
FILE_MODULES = frozenset({"fcntl", "mmap", "shutil", "tempfile"})
FILE_METHODS = frozenset(
    "chmod hardlink_to mkdir read_bytes read_text rmdir symlink_to touch unlink write_bytes "
    "write_text".split()
)
CLOCK_NAMES = {
    "time": frozenset({"time", "time_ns", "clock_gettime", "clock_gettime_ns"}),
    "datetime": frozenset({"now", "today", "utcnow"}),
    "date": frozenset({"today"}),
}
CODE_MODULES = frozenset({"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"})
CODE_BUILTINS = frozenset({"compile", "eval", "exec"})
SEEDED_RANDOM = frozenset({"Random", "SystemRandom"})
SEEDED_NUMPY = frozenset({"BitGenerator", "Generator", "PCG64", "SeedSequence", "default_rng"})
STATEMENTS = frozenset({"execute", "executemany", "executescript"})
#: module -> why it may run statements on a connection that nobody lent it
MAY_CONNECT = {
    "spector/store/sqlite/database.py": "lends the connections, and translates its own statements",
    "spector/store/sqlite/reads.py": "lends the connections",
    "spector/store/catalog/catalog.py": "translates its own statements",
    "spector/store/repair/remnants.py": "goes on behind every error of a damaged catalog",
    "spector/store/sqlite/connections.py": "asks whether an error is one of memory or of damage",
}

#: rooms that know the catalog's tables
MAY_KNOW_TABLES = tuple(
    f"spector/store/{room}/"
    for room in ("catalog", "payloads", "sqlite", "integrity", "erasure", "repair")
)
#: any other room -> texts of SQL that it may have at most; a number may only shrink, and what
#: leaves goes into a function of store/catalog
SPEAKS_SQL = {"spector/search": 12, "spector/store/backup": 2, "spector/store": 11}
_TABLES = "content|erasure|fulltext|head|journal|meta|record|record_tag|segment|session"
_SQL = re.compile(
    rf"\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|JOIN|INTO)\b[^;]*\b(?:{_TABLES})\b"  # a statement
    rf"|\b(?:{_TABLES})\.[a-z_]+ *(?:[=<>]|IN\b|IS\b)"  # a condition on a table's column
    r"|\b[a-z_]+ (?:IS (?:NOT )?NULL|(?:[=<>]|<=|>=|IN) \(?\?)",  # or on one without its table
    re.DOTALL,
)

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as run; run()"

Rule = Callable[[ast.AST], Iterator[tuple[int, str]]]


def file_access(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Calls that open, change or remove files. Questions such as ``path.exists()`` are free."""
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if not (
                attr in HARMLESS_OS or attr.isupper()
            ):
                yield node.lineno, f"os.{attr}"
            case ast.ImportFrom(module="os", names=names):
                for name in names:
                    if name.name not in HARMLESS_OS:
                        yield node.lineno, f"os.{name.name}"
            case ast.Attribute(value=ast.Name(id=module), attr=attr) if module in FILE_MODULES:
                yield node.lineno, f"{module}.{attr}"
            case ast.ImportFrom(module=str(module)) if module in FILE_MODULES:
                yield node.lineno, f"from {module} import"
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "open()"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="io"), attr="open")):
                yield node.lineno, "io.open()"
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in FILE_METHODS:
                yield node.lineno, f".{attr}()"
            case ast.Call(func=ast.Attribute(attr="open"), args=[*_, ast.Constant(str(mode))]) if (
                set(mode) <= set("rwxab+t")
            ):
                yield node.lineno, f".open({mode!r})"


def real_time(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Mentions (not only calls: a default argument counts) of the operating system's clock."""
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=attr) if (
                attr in CLOCK_NAMES.get(owner, ())
            ):
                yield node.lineno, f"{owner}.{attr}"
            case ast.ImportFrom(module="time", names=names):
                for name in names:
                    if name.name in CLOCK_NAMES["time"]:
                        yield node.lineno, f"time.{name.name}"
            case ast.Constant(value=str(text)) if "CURRENT_TIMESTAMP" in text.upper():
                yield node.lineno, "SQL CURRENT_TIMESTAMP"


def loaded_code(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Ways in which data becomes code."""
    for node in nodes_of(tree):
        match node:
            case ast.Import(names=names):
                for name in names:
                    if name.name.split(".")[0] in CODE_MODULES:
                        yield node.lineno, f"import {name.name}"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in CODE_MODULES:
                yield node.lineno, f"from {module} import"
            case ast.Call(func=ast.Name(id=called)) if called in CODE_BUILTINS:
                yield node.lineno, f"{called}()"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield node.lineno, "allow_pickle=True"


def global_random(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Random numbers from a generator nobody passed in."""
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="random"), attr=attr) if attr not in SEEDED_RANDOM:
                yield node.lineno, f"random.{attr}"
            case ast.ImportFrom(module="random", names=names):
                for name in names:
                    if name.name not in SEEDED_RANDOM:
                        yield node.lineno, f"random.{name.name}"
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"), attr=attr
            ) if attr not in SEEDED_NUMPY:
                yield node.lineno, f"np.random.{attr}"


def loose_statements(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Statements on a connection that is neither an argument nor bound by a ``with``.

    What lends a connection turns SQLite's errors into typed ones; a connection taken from a
    catalog's attribute has nobody who does.
    """
    for function in nodes_of(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        lent: set[str] = set()
        for node in nodes_of(function):
            match node:
                case ast.arg(arg=name) | ast.withitem(optional_vars=ast.Name(id=name)):
                    lent.add(name)
                case ast.Assign([ast.Name(id=name)], ast.Attribute(attr="connection")):
                    lent.add(name)
        for node in nodes_of(function):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                    name in lent and attr in STATEMENTS
                ):
                    pass
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="connection"))):
                    pass  # a transaction's own, inside of it
                case ast.Call(func=ast.Attribute(attr=attr)) if attr in STATEMENTS:
                    yield node.lineno, f".{attr}() on a connection that nobody lent"
                case ast.Attribute(
                    value=ast.Name(id="catalog") | ast.Attribute(attr="catalog"), attr="main"
                ):
                    yield node.lineno, "the connection of a catalog"


def sql_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts that name a table of the catalog or test one of its columns. Docstrings are free."""
    documented = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr):
                documented.add(first.value)
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (node not in documented and _SQL.search(node.value))
        ):
            yield node.lineno, node.value[:60]


def taken_locks(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lock of a store, which others take with ``Store.exclusive``."""
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr="lock"):
                pass  # an object's own
            case ast.Attribute(attr="lock"):
                yield node.lineno, ".lock of another object"


def breaches(rule: Rule, module: str) -> list[str]:
    return [f"{module}:{line}: {what}" for line, what in rule(tree_of(module))]


def breaches_in(modules: Iterable[str], rule: Rule) -> dict[str, list[str]]:
    """One test a rule: a test a module and rule would be a fifth of all tests."""
    return {module: found for module in modules if (found := breaches(rule, module))}


def outside(places: Iterable[str]) -> list[str]:
    return [module for module in MODULES if not module.startswith(tuple(places))]


def test_only_the_files_module_touches_files() -> None:
    assert breaches_in(outside(MAY_TOUCH_FILES), file_access) == {}


def test_every_exception_to_the_file_rule_still_exists() -> None:
    gone = [place for place in MAY_TOUCH_FILES if not (REPO / place).exists()]
    assert gone == []


def test_only_the_clock_module_asks_for_the_time() -> None:
    assert breaches_in(outside(["spector/clock.py"]), real_time) == {}


def test_data_never_becomes_code() -> None:
    assert breaches_in(MODULES, loaded_code) == {}


def test_randomness_is_an_argument() -> None:
    assert breaches_in(MODULES, global_random) == {}


def test_every_statement_runs_where_errors_of_sqlite_become_typed_ones() -> None:
    assert breaches_in(outside(MAY_CONNECT), loose_statements) == {}


def test_no_other_room_learns_the_tables_of_the_catalog() -> None:
    counts: dict[str, int] = {}
    for module in outside(MAY_KNOW_TABLES):
        room = module.rpartition("/")[0]
        counts[room] = counts.get(room, 0) + len(breaches(sql_texts, module))
    assert {room: n for room, n in counts.items() if n > SPEAKS_SQL.get(room, 0)} == {}


def test_only_the_store_takes_its_lock_by_name() -> None:
    assert breaches_in(outside(["spector/store/"]), taken_locks) == {}


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (loose_statements, "def f(store):\n    store.catalog.main.execute('SELECT 1')"),
        (loose_statements, "def f(store):\n    db = store.catalog.main\n    db.execute('x')"),
        (loose_statements, "def f(catalog):\n    return g(catalog.main)"),
        (sql_texts, "db.execute('SELECT id FROM record')"),
        (sql_texts, "db.execute(f'UPDATE {table} SET slot = 1 WHERE id = ?')"),
        (sql_texts, "catalog.fetch(ids, sql='record.event_ms < ?')"),
        (sql_texts, "parts.append('valid_until_ms IS NULL')"),
        (taken_locks, "with store.lock:\n    pass"),
        (taken_locks, "self._stores[0].lock.acquire()"),
        (file_access, "import os\nos.replace(a, b)"),
        (file_access, "import os\nfd = os.open(path, os.O_RDWR)"),
        (file_access, "from os import fsync"),
        (file_access, "open(path, 'w').write(text)"),
        (file_access, "open(path)"),
        (file_access, "path.open('wb')"),
        (file_access, "path.write_text(text)"),
        (file_access, "import mmap\nmmap.mmap(fd, 0)"),
        (file_access, "from shutil import rmtree"),
        (real_time, "import time\nnow = time.time()"),
        (real_time, "def f(now=time.time_ns): ..."),
        (real_time, "from time import time"),
        (real_time, "from datetime import datetime\ndatetime.now(UTC)"),
        (real_time, "import datetime\ndatetime.datetime.utcnow()"),
        (real_time, "date.today()"),
        (real_time, "sql = 'insert into t values (current_timestamp)'"),
        (loaded_code, "import pickle"),
        (loaded_code, "from marshal import loads"),
        (loaded_code, "eval(text)"),
        (loaded_code, "np.load(path, allow_pickle=True)"),
        (global_random, "import random\nrandom.shuffle(x)"),
        (global_random, "from random import choice"),
        (global_random, "np.random.rand(3)"),
    ],
)
def test_a_rule_sees_what_breaks_it(rule: Rule, source: str) -> None:
    assert list(rule(ast.parse(source)))


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (sql_texts, 'def f():\n    """SELECT id FROM record: what it runs."""'),
        (sql_texts, "f'{path} is not a record'"),
        (taken_locks, "with self.lock, store.exclusive():\n    pass"),
        (loose_statements, "def f(db, tx):\n    db.execute(x)\n    tx.connection.execute(x)"),
        (loose_statements, "def f(c):\n    with c.latest() as db:\n        db.execute(x)"),
        (file_access, "import os\nos.getpid(), os.path.join(a, b), os.environ, os.O_RDONLY"),
        (file_access, "files.open(name, create=True); text.replace(a, b); spector.open(path)"),
        (real_time, "clock.now_ms(); time.perf_counter(); datetime.fromtimestamp(0, UTC)"),
        (loaded_code, "re.compile(x); np.load(path)"),
        (global_random, "random.Random(7); np.random.default_rng(seed)"),
    ],
)
def test_a_rule_lets_honest_code_pass(rule: Rule, source: str) -> None:
    assert list(rule(ast.parse(source))) == []


def test_the_import_contracts_reject_an_import_that_points_upwards(tmp_path: Path) -> None:
    shutil.copy(REPO / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "spector", ignore=shutil.ignore_patterns("__pycache__"))
    for place, line in {
        "spector/kernel/stray.py": "import spector.store",
        "spector/write/stray.py": "import spector.search",
        "spector/tiers/stray.py": "import numba\nimport openai\nimport sqlite3",
    }.items():
        (tmp_path / place).write_text(line + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    for chain in (
        "spector.kernel.stray -> spector.store",
        "spector.write.stray -> spector.search",
        "spector.tiers.stray -> numba",
        "spector.tiers.stray -> openai",
        "spector.tiers.stray -> sqlite3",
    ):
        assert chain in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1
