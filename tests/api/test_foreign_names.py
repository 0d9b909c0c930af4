"""Names of other libraries: the error says what is meant.

Mechanism: those who come from another memory library or database type the names they know.
Damage: "object has no attribute 'add'" and a search through the manual; worse, code that asks
``hasattr(memory, "search")`` takes spector for something it is not. Guard: the AttributeError and
the TypeError name the verb or the argument that is meant, every name that they give is there, and
``hasattr`` stays False.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector import messages as hints
from spector.errors import InvalidInputError, UnknownArgumentError
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

CUE = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture
def mind() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=4) as memory:
        memory.remember("The key hangs beside the door.", vector=CUE, user_id="ida")
        yield memory


#: verb that is meant -> what others call it
VERBS = dict(cases.rows("VERBS"))


@pytest.mark.parametrize(
    ("name", "meant"), [(name, meant) for meant, names in VERBS.items() for name in names.split()]
)
def test_a_foreign_verb_is_no_attribute_and_says_which_is_meant(
    mind: Memory, name: str, meant: str
) -> None:
    assert not hasattr(mind, name)
    assert getattr(mind, name, None) is None
    with pytest.raises(AttributeError) as caught:
        getattr(mind, name)
    assert f"did you mean {meant}" in str(caught.value)
    assert caught.value.name == name


@pytest.mark.parametrize("name", ["frobnicate", "_store_of", "__len_hint__", "__deepcopy_of__"])
def test_any_other_name_is_just_not_there(mind: Memory, name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(mind, name)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", ["Client", "MemoryClient", "connect", "PersistentClient", "opne"])
def test_the_package_says_how_it_is_opened(name: str) -> None:
    assert not hasattr(spector, name)
    with pytest.raises(AttributeError, match=r"did you mean open\?"):
        getattr(spector, name)


@pytest.mark.parametrize("call", [Memory, lambda: Memory("mind"), lambda: Memory(path="mind")])
def test_the_class_itself_says_how_it_is_opened(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"spector\.open\(path\)"):
        call()


#: verb -> the call, and argument that is meant -> what others call it
CALLS: dict[str, tuple[Callable[[Memory, dict[str, Any]], Any], dict[str, str]]] = {
    "recall": (
        lambda m, more: m.recall("key", **more),
        {
            "k": "topk n max_results",
            "user_id": "user uid tenant",
            "session_id": "thread_id run_id",
            "agent_id": "bot_id",
            "where": "filter metadata_filter",
            "vector": "embedding",
            "tiers": "layer",
            "selective": "score_threshold",
            "time_range": "date_range",
            "any_tags": "any_tag",
            "cue": "query_text",
        },
    ),
    "context": (
        lambda m, more: m.context("key", **more),
        {
            "k": "top_k",
            "max_tokens": "token_budget",
            "user_id": "user",
            "where": "filters",
            "session_id": "sesion_id",
        },
    ),
    "remember": (
        lambda m, more: m.remember("x", **more),
        {
            "user_id": "user",
            "tags": "label",
            "metadata": "payload",
            "event_time": "created_at",
            "expires_at": "expiration_date",
            "expires_in": "ttl",
            "tier": "type",
            "importance": "priority",
            "vector": "embedding",
            "text_or_message": "documents",
            "role": "speaker",
            "supersedes": "replaces",
        },
    ),
    "remember_many": (
        lambda m, more: m.remember_many(["x"], **more),
        {"user_id": "user", "metadata": "metadatas", "vector": "embeddings"},
    ),
    "records": (lambda m, more: list(m.records(**more)), {"user_id": "user", "where": "filters"}),
    "forget": (
        lambda m, more: m.forget(**more),
        {"target": "memory_id ids", "user_id": "user", "purge": "hard", "where": "filter"},
    ),
    "update": (lambda m, more: m.update(1, **more), {"text": "content", "metadata": "meta"}),
    "export": (lambda m, more: m.export("x", **more), {"overwrite": "force", "user_id": "user"}),
    "backup": (
        lambda m, more: m.backup("x", **more),
        {"force": "overwrite", "progress": "callback"},
    ),
    "compact": (lambda m, more: m.compact(**more), {"dry_run": "dry"}),
    "import_": (lambda m, more: m.import_("x", **more), {"limit": "top_k", "progress": "callback"}),
}


@pytest.mark.parametrize(
    ("verb", "name", "meant"),
    [
        (verb, name, meant)
        for verb, (_, every) in CALLS.items()
        for meant, names in every.items()
        for name in names.split()
    ],
)
def test_a_foreign_argument_is_a_typed_error_that_says_which_is_meant(
    mind: Memory, verb: str, name: str, meant: str
) -> None:
    with pytest.raises(UnknownArgumentError) as caught:
        CALLS[verb][0](mind, {name: "x"})
    assert isinstance(caught.value, TypeError)
    assert caught.value.message == f"Memory.{verb}() has no argument {name!r}"
    assert caught.value.hint == f"did you mean {meant}?"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(mind) == 1


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: spector.open("x", model="default"), "embedder"),
        (lambda: spector.open(persist_directory="x"), "path"),
        (lambda: spector.open("x", dimensions=3), "dim"),
        (lambda: spector.open("x", read_only=True), "mode"),
        (lambda: spector.check(directory="x"), "path"),
        (lambda: spector.restore("x", target="y"), "dest"),
        (lambda: spector.repair("x", output="y"), "dest"),
        (lambda: spector.reembed("x", model="default"), "embedder"),
    ],
)
def test_the_functions_of_the_package_do_too(call: Callable[[], Any], meant: str) -> None:
    with pytest.raises(UnknownArgumentError, match=f"did you mean {meant}") as caught:
        call()
    assert caught.value.message.startswith("spector.")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.update(memory_id=1, text="x"), "did you mean target?"),
        (lambda m: m.update(uuid=1, user_id="ida", importance=0.5), "did you mean target?"),
        (lambda m: m.remember_many(documents=["x"], user_id="ida"), "did you mean items?"),
        (lambda m: m.export(filename="x", tags=["t"]), "did you mean target?"),
        (lambda m: m.users(count=3), "it takes: sorts"),
        (lambda m: m.checkpoint(count=3), "it takes none"),
    ],
)
def test_a_foreign_name_of_the_first_argument_is_told_though_that_is_absent(
    mind: Memory, call: Callable[[Memory], Any], said: str
) -> None:
    with pytest.raises(UnknownArgumentError) as caught:
        call(mind)
    assert caught.value.hint == said


def test_the_first_argument_has_one_name_in_all_verbs_by_id(mind: Memory) -> None:
    (record,) = mind.records()
    assert mind.update(target=record, importance=0.25).importance == 0.25
    assert mind.get(target=record).id == mind.pin(target=record).id == record.id
    with pytest.raises(InvalidInputError, match="key="):
        mind.update(importance=0.5)


@pytest.mark.parametrize(
    "verb", ["remember_many", "export", "import_", "backup", "check", "compact"]
)
def test_a_progress_that_cannot_be_called_is_refused_before_the_work(
    mind: Memory, tmp_path: Path, verb: str
) -> None:
    place = {"remember_many": [[{"text": "x", "vector": CUE}]], "check": [], "compact": []}
    with pytest.raises(InvalidInputError, match="progress is 'yes'"):
        getattr(mind, verb)(*place.get(verb, [tmp_path / "x"]), progress="yes")
    assert len(mind) == 1
    assert not list(tmp_path.iterdir())


def test_a_key_of_a_message_is_told_like_an_argument(mind: Memory) -> None:
    with pytest.raises(InvalidInputError, match="did you mean user_id") as caught:
        mind.remember({"text": "x", "user": "ida"})
    assert "metadata" in caught.value.hint


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda mind: mind.history(), r"lacks target \(write it like Memory.history\(target\)"),
        (lambda mind: mind.session("s", "ida"), r"session_id without a name.*user_id=\.\.\."),
        (lambda mind: mind.session("s").observe(), "Session.observe.*lacks message"),
        (lambda mind: mind.facts.add("Ida", "likes"), r"lacks object .*\(subject, predicate, obj"),
        (lambda mind: mind.checkpoint(1), "takes nothing .* got 1 value"),
        (lambda mind: mind.session("s").buffer.add(), r"SessionBuffer.add.*lacks id and text"),
        (lambda mind: mind.session("s").zones.add(), r"Zones.add.*lacks item_id and content"),
        (lambda mind: mind.session("s").sensory.ingest(), r"SensoryBuffer.ingest.*lacks content"),
        (lambda mind: mind.daemon.start(every=5), r"ReflectDaemon.start.*no argument 'every'"),
        (lambda mind: spector.ManualClock("2026-01-01T00:00:00Z").advance(months=1), "days, hours"),
    ],
)
def test_a_call_that_does_not_fit_names_the_fix(
    mind: Memory, call: Callable[[Memory], Any], fix: str
) -> None:
    with pytest.raises(UnknownArgumentError, match=fix):
        call(mind)


def test_every_name_that_is_suggested_is_there() -> None:
    planned = {"users", "count"}
    for meant in {each for found in hints._METHODS.values() for each in found}:
        first = re.split(r"\W", meant)[0]
        assert first in planned or first in ("len", "spector") or hasattr(Memory, first), meant
    for meant in {each for found in hints._FUNCTIONS.values() for each in found}:
        assert hasattr(spector, meant), meant
    every = {
        name
        for member in [
            *vars(Memory).values(),
            spector.open,
            spector.repair,
            spector.restore,
            spector.reembed,
        ]
        if inspect.isfunction(member)
        for name in inspect.signature(member).parameters
    }
    selecting = {"any_tags", "tiers", "where", "time_range"}
    rare = {"mmr", "modalities", "text"}
    for meant in {each for found in hints._KEYWORDS.values() for each in found}:
        assert meant in every | selecting | rare, meant


def test_signatures_and_docstrings_are_those_of_the_verbs(mind: Memory) -> None:
    assert "cue" in inspect.signature(Memory.recall).parameters
    assert inspect.getdoc(Memory.recall)
    assert "path" in inspect.signature(spector.open).parameters
    assert not hasattr(mind, "__deepcopy__")


# -- Names that other libraries use, asked of a facet, lead to the right one -----------------------
#
# Damage without it: an AttributeError without a word, and a search through the manual.


@cases("facet", "wrong", "right")
def test_another_name_leads_to_ours(facet: str, wrong: str, right: str) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        noun = getattr(memory, facet)
        assert not hasattr(noun, wrong)
        with pytest.raises(AttributeError, match=f"did you mean {right}"):
            getattr(noun, wrong)
        assert callable(getattr(noun, right))


def test_an_argument_that_a_facet_has_not_is_a_typed_error() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        with pytest.raises(UnknownArgumentError, match=r"Facts.add.*did you mean source"):
            memory.facts.add("port", "is", "8080", sources=[1])  # type: ignore[call-arg]
        with pytest.raises(UnknownArgumentError, match=r'"role": ..., "content"'):
            memory.observe("hello there, I am Bo", role="user")  # type: ignore[call-arg]
