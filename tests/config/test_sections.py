"""Every field of a section has its range, and a preset differs from the defaults as its design does.

Mechanism: wrong values are derived from each annotation. Damage without it: a threshold that nobody
can set, a negative limit that is believed, a preset that does not run as the design that it is named
after.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import math
import pickle
import subprocess
import sys
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, InvalidInputError, ManualClock, UnknownArgumentError
from spector.config import Numbers
from tests.conftest import NOW
from tests.fakes import FakeEmbedder
from tests.trees import nodes_of, tree_of

SECTIONS = {
    field.name: value
    for field in dataclasses.fields(Config)
    if dataclasses.is_dataclass(value := getattr(Config(), field.name))
}

_BANDS = {"observe.gate_by": "bands", "observe.gate_neighbours": 8}
PRESETS: dict[str, dict[str, Any]] = {
    "spector": {},
    "v9": _BANDS
    | {
        "observe.rewrite": True,
        "observe.on_update": "merge",
        "observe.reward_prior": False,
        "observe.exclamation": 0.2,
        "observe.confidence": "class",
        "observe.entity_by": "mention",
        "knowledge.edges_per_memory": 0,
        "sleep.order": "v9",
        "sleep.utility_drift_up": True,
        "sleep.promote_accesses_utility": 0,
        "sleep.promote_entity_memories": 3,
        "sleep.promote_entity_sessions": 1,
        "sleep.promote_by_entity": "move",
        "sleep.cluster_min_importance": 0,
        "sleep.forget_contradicted": True,
        "sleep.blast_radius": 1.0,
        "sleep.capacity_active": 500,
        "sleep.capacity_trim": 450,
        "sleep.expiry_action": "dormant",
        "context_abbreviated": 0.4,
        "profile": "cognitive",
    },
    "ucma": _BANDS
    | {
        "observe.importance": "ucma",
        "sleep.retention_curve": "ebbinghaus",
        "sleep.compress_below": "forget",
        "sleep.forget_max_importance": 1.0,
        "sleep.blast_radius": 1.0,
        "sleep.forget_action": "forget",
        "association.expand": True,
        "association.min_similarity": 0.5,
        "initial_stability_days": 1,
        "stability_by_importance": False,
        "profile": "ucma",
    },
    "maxim": _BANDS
    | {
        "sleep.promote_entity_memories": 1,
        "sleep.promote_entity_sessions": 1,
        "sleep.blast_radius": 1.0,
    },
}

FIELDS = [
    (section, field.name)
    for section, value in SECTIONS.items()
    for field in dataclasses.fields(value)
]


def kind_of(section: str) -> Any:
    return type(getattr(Config(), section))


def flat(config: Config) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            for each in dataclasses.fields(value):
                out[f"{field.name}.{each.name}"] = getattr(value, each.name)
        else:
            out[field.name] = value
    return out


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_differs_from_the_defaults_in_these_values_only(name: str) -> None:
    found, usual = flat(Config.preset(name)), flat(Config())
    assert {key: value for key, value in found.items() if value != usual[key]} == PRESETS[name]


def wrong_for(section: str, name: str) -> list[Any]:
    """Values that the field must refuse: negative, above its range, of another sort."""
    value = getattr(SECTIONS[section], name)
    if isinstance(value, bool) or value is None:
        return [1, -1, "yes", 0.5]
    if isinstance(value, str):
        return ["", "none of these", 3, b"skip"]
    if isinstance(value, Numbers):
        first = next(iter(value))
        return [{first: -1}, {first: math.nan}, {first: "x"}, {"no such": 1}, 3, [1]]
    if isinstance(value, tuple):
        few: list[Any] = [("none of these",), 3, -1, b"en", (None,)]
        return few if isinstance(value[0], str) else [(-1,) * len(value), value[:-1], "1234", 3]
    if name == "min_similarity":
        return [-1.5, 1.5, math.nan, True]
    return [-1, -0.001, math.nan, math.inf, 1e12, True, "3", None]


@pytest.mark.parametrize(("section", "name"), FIELDS, ids=".".join)
def test_a_wrong_value_is_refused_with_the_name_of_its_field(section: str, name: str) -> None:
    for value in wrong_for(section, name):
        with pytest.raises(InvalidInputError, match=rf"Config\.{section}\.{name}\b"):
            kind_of(section)(**{name: value})
        with pytest.raises(InvalidInputError, match=rf"Config\.{section}\.{name}\b"):
            Config.preset("spector", **{section: {name: value}})


@pytest.mark.parametrize(("section", "name"), FIELDS, ids=".".join)
def test_a_share_is_at_most_one_and_a_count_is_an_integer(section: str, name: str) -> None:
    hint = str(kind_of(section).__annotations__[name])
    above = {"Share": 1.01, "Count": 0, "Whole": 2.5, "Positive": 0, "Growth": 0.9}.get(hint)
    if above is None:
        assert hint not in ("float", "int")  # each number has a range
        return
    with pytest.raises(InvalidInputError, match=rf"Config\.{section}\.{name} is {above}"):
        kind_of(section)(**{name: above})


def test_limits_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"create_below is 0\.8, above update_from"):
        spector.ObserveConfig(create_below=0.8)
    with pytest.raises(InvalidInputError, match="boost_range"):
        spector.ObserveConfig(boost_range=(1.3, 0.7))
    with pytest.raises(InvalidInputError, match="capacity_trim is 450, above capacity_active"):
        spector.SleepConfig(capacity_active=400, capacity_trim=450)


def test_a_curve_that_would_never_forget_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"retention_curve is 'fsrs6' .*'fsrs' or 'ebbin"):
        spector.SleepConfig(retention_curve="fsrs6")  # type: ignore[arg-type]


def test_a_mapping_keeps_the_names_that_it_leaves_out() -> None:
    made = spector.SleepConfig(category_rates={"event": 0.01})  # type: ignore[arg-type]
    assert made.category_rates == dict(spector.SleepConfig().category_rates) | {"event": 0.01}
    assert hash(made) == hash(spector.SleepConfig(category_rates={"event": 0.01}))  # type: ignore[arg-type]
    assert repr(Numbers({"a": 1})) == "{'a': 1}"
    with pytest.raises(KeyError):
        Numbers({"a": 1})["b"]


def test_words_are_kept_in_their_order() -> None:
    assert spector.SleepConfig(steps=["forget", "decay"]).steps == ("decay", "forget")  # type: ignore[arg-type]
    assert spector.SleepConfig(steps=()).steps == ()
    assert spector.ObserveConfig(language="tr").language == ("tr",)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"Config\.observe\.language is \(\)"):
        spector.ObserveConfig(language=())


def test_changes_win_over_a_preset() -> None:
    config = Config.preset("v9", observe={"max_chars": 500}, max_tags=8)
    assert (config.observe.max_chars, config.observe.gate_by, config.max_tags) == (500, "bands", 8)
    whole = Config.preset("v9", observe=spector.ObserveConfig())
    assert (whole.observe.gate_by, whole.sleep.order) == ("slots", "v9")
    assert Config.preset() == Config.preset("spector") == Config()


def test_what_a_preset_does_not_know_is_refused() -> None:
    for name in ("V9", "", None, ["v9"], 9):
        with pytest.raises(InvalidInputError, match="there is no preset"):
            Config.preset(name)  # type: ignore[arg-type]
    with pytest.raises(UnknownArgumentError, match="max_tag"):
        Config.preset("v9", max_tag=1)
    with pytest.raises(UnknownArgumentError, match=r"ObserveConfig\(\) has no argument 'mimic'"):
        Config.preset("v9", observe={"mimic": 1})


def test_a_section_of_another_kind_is_refused() -> None:
    for value in (spector.SleepConfig(), {"max_chars": 1}, None, 1):
        with pytest.raises(InvalidInputError, match=r"Config\.observe is"):
            Config(observe=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "+24:00", "+3", "../UTC", "\0", 3, None])
def test_a_time_zone_that_nobody_knows_is_refused(zone: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"Config\.timezone"):
        Config(timezone=zone)
    if zone is not None:
        with pytest.raises(InvalidInputError, match="timezone"):
            spector.open(":memory:", embedder=FakeEmbedder(), timezone=zone)


def test_a_time_zone_is_a_name_or_an_offset() -> None:
    noon = datetime(2026, 11, 25, 12, tzinfo=UTC)
    assert Config().zone is UTC
    for name in ("Europe/Istanbul", "+03:00"):
        moved = noon.astimezone(Config(timezone=name).zone)
        assert (moved.hour, moved.utcoffset()) == (15, timedelta(hours=3))
    west = noon.astimezone(Config(timezone="-03:30").zone)
    assert (west.hour, west.minute) == (8, 30)


def test_open_wins_over_the_configuration(tmp_path: Path) -> None:
    given = Config.preset("v9", timezone="+01:00")
    with spector.open(
        tmp_path / "a", embedder=FakeEmbedder(), config=given, timezone="+03:00"
    ) as memory:
        assert memory._parts.config == dataclasses.replace(given, timezone="+03:00")
    with spector.open(tmp_path / "a", embedder=FakeEmbedder(), config=given) as memory:
        assert memory._parts.config.timezone == "+01:00"


def test_a_preset_ranks_by_its_profile_unless_open_names_one() -> None:
    for name, profile in (("spector", "balanced"), ("v9", "cognitive"), ("ucma", "ucma")):
        with spector.open(
            ":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW), config=Config.preset(name)
        ) as memory:
            memory.remember_many(["the river rose", "a brook fell"])
            usual, named = memory.recall("river"), memory.recall("river", profile=profile)
            assert [hit.score for hit in usual] == [hit.score for hit in named]
    with pytest.raises(InvalidInputError, match="profile"):
        spector.open(":memory:", embedder=FakeEmbedder(), config=Config(profile="no such"))


def test_ucma_starts_every_memory_at_a_day() -> None:
    clock = ManualClock(NOW)
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), clock=clock, config=Config.preset("ucma")
    ) as memory:
        for importance in (0.0, 0.4, 1.0):
            made = memory.remember(f"river {importance}", importance=importance)
            assert made.stability_days == 1.0
        flash = memory.remember("fire", importance=0.2, arousal=0.9)
        assert flash.stability_days == 1.5


@pytest.mark.parametrize("bad", [object(), type("S", (), {"summarize": 3})(), dict, "model"])
def test_a_summarizer_without_the_method_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="summarizer"):
        spector.open(":memory:", embedder=FakeEmbedder(), summarizer=bad)


def test_a_configuration_is_a_value() -> None:
    config = Config.preset("v9", sleep={"category_rates": {"fact": 0.1}})
    assert copy.deepcopy(config) == pickle.loads(pickle.dumps(config)) == config
    assert len({config, copy.copy(config)}) == 1
    with pytest.raises(TypeError):
        Config(5)  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.observe.max_chars = 3  # type: ignore[misc]


def test_importing_spector_loads_no_configuration() -> None:
    code = "import sys, spector; print([m for m in sys.modules if m.startswith('spector.config')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Every field of the configuration is read by a part of spector.
#
# Mechanism: the attributes that the source reads, with the name of what they are read from. Damage
# without it: a field that is accepted and ignored. Guard: a field that only ``spector.config`` knows
# fails.

SOURCE = Path(spector.__file__).parent
#: names under which parts keep the configuration, or a section of it
ROOTS = frozenset({"config", "_config", "args"})
#: further names of single sections
NAMES = {
    "association": {"tuning", "usual"},
    "knowledge": {"tuning", "usual"},
    "llm": {"limits"},
    "sleep": {"tuning"},
}


@functools.cache
def reads() -> dict[str, set[str]]:
    """Attribute -> the last names of what it is read from, anywhere but in the configuration."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] == "config":
            continue
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.Attribute):
                of = node.value
                if isinstance(of, ast.Name):
                    found[node.attr].add(of.id)
                elif isinstance(of, ast.Attribute):
                    found[node.attr].add(of.attr)
    return found


def unread(found: dict[str, set[str]]) -> set[str]:
    """Names of fields that nothing reads."""
    out: set[str] = set()
    for field in dataclasses.fields(Config):
        value = getattr(Config(), field.name)
        if not dataclasses.is_dataclass(value):
            if not found[field.name] & ROOTS:
                out.add(field.name)
            continue
        names = ROOTS | {field.name} | NAMES.get(field.name, set())
        out.update(
            f"{field.name}.{each.name}"
            for each in dataclasses.fields(value)
            if not found[each.name] & names
        )
    return out


def test_every_field_is_read() -> None:
    assert unread(reads()) == set()


@pytest.mark.parametrize("name", ["max_refs", "jaccard", "route", "checkpoint_bytes"])
def test_a_field_that_is_no_longer_read_is_found(name: str) -> None:
    found = defaultdict(set, reads())
    found[name] = {"elsewhere"}
    assert {each.rpartition(".")[2] for each in unread(found)} == {name}
