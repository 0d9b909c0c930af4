"""``python -m bench.cognition.statements``: statements, values and contradictions on four sets.

python -m bench.cognition.statements                 every set, both halves
python -m bench.cognition.statements locomo --sample FILE   200 statements to be judged
python -m bench.cognition.statements gate --misses   what is not found, of the half fitted on

The sets lie in ``$SPECTOR_DATA`` or ../shared/data and are not part of this repository. Each is cut
in two: rules were fitted on one half, the other only reports. Nothing here is known to the product:
CaRB's lenient match and the pairs of FactConsolidation are worked out in this file.

========= ==========================================================================================
set       what is counted
========= ==========================================================================================
locomo    statements a turn; precision is a matter of reading, see ``--sample``
carb      precision and recall by the published lenient match of (subject, relation, object)
gate      supersede pairs found and lost (taken for the same), others wrongly superseded
facts     pairs of one wording and two values: found, taken for the same, or not read at all
========= ==========================================================================================
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.machine import REPO
from spector.language.frames import Statement, compare, extract
from spector.language.tables import in_languages

#: conversations of LoCoMo that rules were fitted on
_FITTED: Final = (0, 1)
_SAMPLE: Final = 200
_SEED: Final = 7
#: a digest of each statement of the sample, and what a second reader said of it
VERDICTS: Final = Path(__file__).with_name("statements_read.txt")
#: words behind which the value of a fact stands
_LINKS: Final = frozenset("is of by in with from to as for".split())
_BE: Final = frozenset("be is am are was were been being".split())

Row = tuple[str, str]


def data() -> Path:
    """The folder of the sets."""
    return Path(os.environ.get("SPECTOR_DATA", REPO.parent / "shared" / "data"))


def is_report(key: str) -> bool:
    """Whether an item belongs to the half that only reports."""
    return bool(zlib.crc32(key.encode()) % 2)


# -- LoCoMo ---------------------------------------------------------------------------------------


def turns() -> Iterator[tuple[int, str, str]]:
    """(conversation, speaker, text) of each turn."""
    sets = json.loads((data() / "locomo" / "locomo_dev.json").read_text(encoding="utf-8"))
    for number, each in enumerate(sets):
        for key, session in each["conversation"].items():
            if key.startswith("session_") and not key.endswith("date_time"):
                for turn in session:
                    yield number, turn["speaker"], turn["text"]


def locomo(options: argparse.Namespace) -> list[Row]:
    counts: dict[str, list[int]] = {"fitted": [0, 0], "reported": [0, 0]}
    found: list[tuple[str, Statement]] = []
    for number, speaker, text in turns():
        half = counts["fitted" if number in _FITTED else "reported"]
        made = extract(text, speaker=speaker)
        half[0] += 1
        half[1] += len(made)
        found += ((text, each) for each in made)
    if options.sample:
        with open(options.sample, "w", encoding="utf-8") as out:
            for line in _drawn(found, options.seed):
                out.write("\t".join(("", *line)) + "\n")
    return [
        *(
            (f"locomo {name}", f"{made} of {seen} turns, {made / max(seen, 1):.3f} a turn")
            for name, (seen, made) in counts.items()
        ),
        ("locomo read", _read_by_another(_drawn(found, _SEED))),
    ]


def _drawn(found: Sequence[tuple[str, Statement]], seed: int) -> list[tuple[str, ...]]:
    """The sample: triple, modality, tense, clause and turn of each statement."""
    out = []
    for text, each in found:
        denial = "" if each.polarity else "not "
        triple = f"{each.subject} | {denial}{each.predicate} | {each.object}"
        clause = text[slice(*each.span)]
        out.append((triple, each.modality, each.tense, clause, " ".join(text.split())))
    # by a digest, so that a statement more or less leaves the others of the sample
    return sorted(out, key=lambda line: digest_of((str(seed), *line)))[:_SAMPLE]


def digest_of(line: Sequence[str]) -> str:
    """What stands for a statement where its words may not be given on."""
    return hashlib.sha256("\t".join(line).encode()).hexdigest()[:16]


def _read_by_another(lines: Sequence[Sequence[str]]) -> str:
    """What a second reader, who had not seen the code, said of the sample of seed 7."""
    said = dict(line.split() for line in VERDICTS.read_text("utf-8").splitlines())
    verdicts = [said[digest] for digest in map(digest_of, lines) if digest in said]
    right = verdicts.count("right")
    return f"{right} of {len(verdicts)} right, {len(lines) - len(verdicts)} not read"


# -- CaRB -----------------------------------------------------------------------------------------

#: relation, subject, object
Tuple3 = tuple[list[str], list[str], list[str]]


def match(gold: Tuple3, found: Tuple3) -> tuple[float, float]:
    """(precision, recall) of the words of a tuple against one of the gold; 0, 0 for no match."""
    hits, given = _shared(gold[0], found[0]), len(found[0])
    if "be" in found[0] and not {"be"} & set(gold[0]) and _BE & set(gold[0]):
        hits += 1
    if not hits:
        return 0.0, 0.0
    wanted = len(gold[0])
    for mine, theirs in zip(gold[1:], found[1:], strict=True):
        hits += _shared(mine, theirs)
        wanted += len(mine)
        given += len(theirs)
    return hits / given, hits / wanted


def _shared(gold: Sequence[str], found: Sequence[str]) -> int:
    left = collections.Counter(found)
    return sum((left & collections.Counter(gold)).values())


def score(gold: Sequence[Tuple3], found: Sequence[Tuple3]) -> tuple[float, float]:
    """(sum of precisions under a one-to-one match, sum of recalls) of a sentence."""
    scores = [[match(mine, theirs) for theirs in found] for mine in gold]
    recall = sum(max((each[1] for each in row), default=0.0) for row in scores)
    free_rows, free_columns, precision = set(range(len(gold))), set(range(len(found))), 0.0
    for _ in range(min(len(gold), len(found))):
        row, column = max(
            ((r, c) for r in free_rows for c in free_columns),
            key=lambda at: scores[at[0]][at[1]][0],
        )
        precision += scores[row][column][0]
        free_rows.remove(row)
        free_columns.remove(column)
    return precision, recall


def triple_of(text: str, each: Statement) -> Tuple3:
    """A statement in the words of its sentence: what stands between subject and object relates."""
    subject, value = each.subject_span, each.object_span
    between = text[min(subject[1], value[1]) : max(subject[0], value[0])]
    return between.split(), text[slice(*subject)].split(), text[slice(*value)].split()


def carb(options: argparse.Namespace) -> list[Row]:
    gold: dict[str, list[Tuple3]] = {}
    for line in (data() / "cognition/carb/gold_dev.tsv").read_text(encoding="utf-8").splitlines():
        sentence, relation, *arguments = (cell.strip() for cell in line.split("\t"))
        rest = " ".join(arguments[1:]).split()
        gold.setdefault(sentence, []).append((relation.split(), arguments[0].split(), rest))
    rows = []
    for name, half in (("fitted", False), ("reported", True)):
        precision = recall = 0.0
        given = wanted = 0
        for sentence, tuples in gold.items():
            if is_report(sentence) != half:
                continue
            found = [
                triple_of(sentence, each)
                for each in in_languages(("en",), partial(extract, sentence))
            ]
            found = [each for each in found if each[0]]
            got = score(tuples, found)
            precision, recall = precision + got[0], recall + got[1]
            given, wanted = given + len(found), wanted + len(tuples)
        p, r = precision / max(given, 1), recall / max(wanted, 1)
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        rows.append((f"carb {name}", f"P {p:.3f} R {r:.3f} F1 {f1:.3f}, {given} triples"))
    return rows


# -- the gate's pairs -----------------------------------------------------------------------------


def gate(options: argparse.Namespace) -> list[Row]:
    rows = []
    text = (data() / "cognition/gate/gate.jsonl").read_text(encoding="utf-8")
    pairs = [json.loads(line) for line in text.splitlines()]
    for name, half in (("fitted", False), ("reported", True)):
        counts: collections.Counter[str] = collections.Counter()
        for pair in pairs:
            if is_report(repr((pair["lang"], pair["attribute"]))) == half:
                _count(pair, counts, options.misses and not half)
        found = ", ".join(
            f"{lang} {counts[f'found {lang}']}/{counts[f'changed {lang}']}" for lang in ("en", "tr")
        )
        rows.append(
            (
                f"gate {name}",
                (
                    f"found {found}; lost {counts['lost']}; "
                    f"false {counts['false']} of {counts['others']}"
                ),
            )
        )
    return rows


def _count(pair: dict[str, Any], counts: collections.Counter[str], show: bool) -> None:
    old, new = extract(pair["old"]), extract(pair["new"])
    replaces = any(compare(old, each, pair["new"]).kind == "replaces" for each in new)
    if pair["label"] != "supersede":
        counts["others"] += 1
        counts["false"] += replaces
    else:
        counts[f"changed {pair['lang']}"] += 1
        counts[f"found {pair['lang']}"] += replaces
        counts["lost"] += not replaces and bool(new) and all(_known(each, old) for each in new)
    if show and replaces != (pair["label"] == "supersede"):
        print(pair["label"], "|", pair["old"], "|", pair["new"])


def _known(new: Statement, old: Sequence[Statement]) -> bool:
    """Whether a slot and its value are there already, so that a gate would reinforce."""
    return any(
        (each.subject, each.predicate, each.value, each.polarity)
        == (new.subject, new.predicate, new.value, new.polarity)
        for each in old
    )


# -- FactConsolidation ----------------------------------------------------------------------------


def changed_pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Facts of one wording up to a last value: the newer one has the greater number."""
    seen: dict[str, list[str]] = {}
    for line in lines:
        found = re.match(r"\d+\. (.+?)\.?\s*$", line)
        if found is None:
            continue
        words = found[1].split()
        for at in range(len(words) - 1, max(len(words) - 6, 3), -1):
            if words[at - 1] in _LINKS:
                prefix = " ".join(words[:at])
                for other in seen.get(prefix, ()):
                    if other != found[1]:
                        yield other, found[1]
                seen.setdefault(prefix, []).append(found[1])
                break


def facts(options: argparse.Namespace) -> list[Row]:
    text = (data() / "cognition/factconsolidation/facts.json").read_text(encoding="utf-8")
    pairs = list(changed_pairs(json.loads(text)["sh_32k"]["context"].splitlines()))
    rows = []
    for name, half in (("fitted", False), ("reported", True)):
        counts: collections.Counter[str] = collections.Counter()
        for old, new in pairs:
            if is_report(old.rsplit(" ", 1)[0]) != half:
                continue
            before, after = extract(f"{old}."), extract(f"{new}.")
            kind = "unread" if not (before and after) else "read"
            counts[kind] += 1
            counts["found"] += any(compare(before, each, new).kind == "replaces" for each in after)
            counts["lost"] += bool(after) and all(_known(each, before) for each in after)
        total = counts["read"] + counts["unread"]
        rows.append(
            (
                f"facts {name}",
                (
                    f"{total} changed pairs: both read {counts['read']}, found {counts['found']} "
                    f"({counts['found'] / max(total, 1):.3f}), lost {counts['lost']}"
                ),
            )
        )
    return rows


SETS: Final[dict[str, Callable[[argparse.Namespace], list[Row]]]] = {
    "locomo": locomo,
    "carb": carb,
    "gate": gate,
    "facts": facts,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cognition.statements")
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], help="all by default")
    parser.add_argument("--sample", help="write 200 statements from LoCoMo to this file")
    parser.add_argument("--seed", type=int, default=_SEED, help="of the sample, 7 by default")
    parser.add_argument("--misses", action="store_true", help="print what the gate set misses")
    options = parser.parse_args(arguments)
    if not data().is_dir():
        print(f"no data at {data()}; set SPECTOR_DATA to the folder of the sets", file=sys.stderr)
        return 1
    for name in options.sets or SETS:
        for label, figures in SETS[name](options):
            print(f"{label:16} {figures}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
