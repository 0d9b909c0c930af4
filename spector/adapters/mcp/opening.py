"""A memory that is opened in the background, and again when it could not be opened."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from spector.clock import SystemClock, iso_of_ms
from spector.errors import SpectorError, StoreClosedError, StoreFailedError
from spector.messages import counted

if TYPE_CHECKING:
    from spector.memory import Memory

#: memories of a store that is checked as it is opened: some 100 ms
_CHECKED: Final = 20_000


def store_path(given: str | None = None) -> str:
    """The directory of the store: ``given``, else ``SPECTOR_STORE``, else in the user's data.

    That is ``$XDG_DATA_HOME/spector/mind``, by default in ``~/.local/share``, and on macOS in
    ``~/Library/Application Support``.
    """
    named = given or os.environ.get("SPECTOR_STORE")
    if named:
        return named if named == ":memory:" else os.path.abspath(os.path.expanduser(named))
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # the standard says to ignore it then
        home = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
        data = os.path.expanduser(home)
    return os.path.join(data, "spector", "mind")


def scope_of(user_id: str | None, agent_id: str | None) -> dict[str, str]:
    """What every call is restricted to, without what was not given.

    Raises:
        InvalidScopeError: one is empty, or not a printable str.
    """
    from spector.arguments import check_scope  # these load the engine; --help does not
    from spector.config import Config

    given = {"user_id": user_id, "agent_id": agent_id}
    checked = {name: check_scope(value, name, Config()) for name, value in given.items()}
    return {name: value for name, value in checked.items() if value is not None}


class Opening:
    """A memory that may have to be opened first.

    Args:
        path: where its store is, for status reports.
        opener: opens it. It is called again by a later call when it has raised, and after a write
            that failed, because reopening recovers, and once the store is replaced or deleted.
    """

    def __init__(self, path: str, opener: Callable[[], Memory]) -> None:
        self.path = path
        #: when the store was checked, and what is wrong with it; "" for nothing
        self.checked, self.warning = "", ""
        self._opener = opener
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self._is_begun = self._is_closed = self._is_lent = False
        self._catalog = os.path.join(path, "catalog.db")
        #: of the catalog that is open; None where there is no file
        self._identity: tuple[int, int] | None = None
        #: that another store was opened; for the next answer
        self._news = ""

    @classmethod
    def of(cls, memory: Memory) -> Opening:
        """A memory that is open, and stays open when the server ends."""
        made = cls(memory.path, lambda: memory)
        made._is_begun = made._is_lent = True
        return made

    def begin(self, *, writes: bool = True) -> None:
        """Open it in the background, unless that was begun.

        Args:
            writes: load also what new memories are compared by.
        """
        if not self._is_begun:
            self._is_begun = True
            # no daemon: the interpreter would end in the middle of its native code, and abort
            threading.Thread(target=self._warm, args=(writes,), name="spector-open").start()

    def memory(self) -> Memory:
        """The memory; waits while it is being opened.

        Raises:
            SpectorError: it cannot be opened now.
        """
        from spector.store.files import identity

        with self._lock:
            if self._is_closed:
                raise StoreClosedError("the server is ending", hint="start it again")
            if self._identity is not None and identity(self._catalog) != self._identity:
                self._let_go()
                self._identity, self.checked, self.warning = None, "", ""
                self._news = f"the store at {self.path} was replaced or deleted since it was opened"
            if self._memory is None:
                self._memory = self._opener()
                self._identity = None if self._is_lent else identity(self._catalog)
            return self._memory

    def take_warning(self) -> str:
        """What is wrong with the store; once, that it is another one; "" for nothing."""
        news, self._news = self._news, ""
        return "; ".join(each for each in (news, self.warning) if each)

    def note_failure(self, error: SpectorError) -> None:
        """Open the memory again at the next call, if nothing else helps."""
        if not isinstance(error, StoreFailedError) or self._is_lent:
            return
        with self._lock:
            try:
                len(self._memory or ())  # another call may have opened it again by now
            except StoreFailedError:
                self._let_go()

    def _let_go(self) -> None:
        left, self._memory = self._memory, None
        with contextlib.suppress(SpectorError):
            if left is not None:
                left.close()

    def check(self) -> None:
        """Prove that a small store is whole; `warning` says what is not."""
        memory = self.memory()
        if len(memory) <= _CHECKED:
            found = memory.check(limit=1)
            self.checked = iso_of_ms(SystemClock().now_ms())
            self.warning = ""
            if not found.ok:
                problems = counted(found.count, "problem")
                self.warning = f"the store has {problems}; run: spector check {self.path}"

    def close(self) -> None:
        """Close what was opened here; running calls end first."""
        with self._lock:
            self._is_closed = True
            memory, self._memory = self._memory, None
        if memory is not None and not self._is_lent:
            memory.close()

    def _warm(self, writes: bool) -> None:
        """Load what the first calls would wait for. A failure is that call's to report."""
        with contextlib.suppress(SpectorError):
            self.check()
            memory = self.memory()
            memory.recall("hello", k=1)
            if writes:  # rules decide what is alike: these two are the model's
                memory.judge("I live in Cork.", "I moved to Ghent.")
