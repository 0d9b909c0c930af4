"""What a recall brings to mind, written down for a prompt within a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from spector.clock import iso_of_ms
from spector.config import Config
from spector.read.abstain import has_likeness, judge, least_of, relevances
from spector.read.excerpt import cue_words, excerpt
from spector.read.newer import outdated
from spector.read.pick import near_the_best, unrepeated
from spector.read.quote import FRAME, Block, Line, line_of, quoted, standing_section
from spector.read.tokens import TokenCounter
from spector.records import Hit, HitList

__all__ = ["Context", "Desk", "Quote"]

#: tokens of the words of an abbreviated memory
_ABBREVIATED_TOKENS: Final = 40
#: a memory takes at most this share of the budget while others wait
_SHARE: Final = 4
#: of the budget, what instructions that hold may take with their heading
_STANDING_SHARE: Final = 0.15
#: a text of more characters a token than that is not counted: it does not fit
_CHARS_PER_TOKEN: Final = 16
_NO_ROOM: Final = "no room left in the budget"
_TOO_LONG: Final = "too long"
_FAR: Final = "its score is far below the best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """One hit and what became of it.

    Attributes:
        form: "full": all its words, time and origin; "abbreviated": the part that the cue is
            about; "skipped".
        relevance: 0..1, how far it stands out from the crowd behind the best hit.
        tokens: of its line, 0 when skipped.
        reason: why it is not there in full; empty when it is.
    """

    hit: Hit
    form: str
    relevance: float
    tokens: int = 0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: id, time and score of the hit, and the fields above."""
        return {
            **_named(self.hit),
            "form": self.form,
            "relevance": round(self.relevance, 4),
            "tokens": self.tokens,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Recalled memories as a block of text for a prompt; ``str()`` is the text.

    Attributes:
        text: the block, empty when there is nothing to say.
        tokens: of the text, never more than ``max_tokens``.
        tokenizer: who counted: "estimate", an encoding, or "yours".
        exact: False when the count is an estimate.
        quotes: every hit that was considered and what became of it, best first.
        standing: the instructions that hold and are in the text, in a section of their own that
            takes 15 % of ``max_tokens`` at most: those that fit the cue, then those that always
            hold, newest first. They are no hits.
        reason: why no memory is quoted.
        notes: how the cue was read, where that is not what was asked; see `HitList.notes`.
        abstained: none is quoted on purpose: no memory seems to answer, or the cue is small talk
            and nothing was looked for; ``reason`` says which. There may be ``standing`` ones.
    """

    text: str = ""
    tokens: int = 0
    max_tokens: int = 0
    tokenizer: str = "estimate"
    exact: bool = False
    quotes: tuple[Quote, ...] = field(default=(), repr=False)
    reason: str = ""
    abstained: bool = False
    standing: tuple[Hit, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits that are in the text, best first."""
        return tuple(quote.hit for quote in self.quotes if quote.form != "skipped")

    @property
    def skipped(self) -> tuple[Quote, ...]:
        """The hits that are not, and why."""
        return tuple(quote for quote in self.quotes if quote.form == "skipped")

    def to_dict(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        return {
            "text": self.text, "tokens": self.tokens, "max_tokens": self.max_tokens,
            "tokenizer": self.tokenizer, "exact": self.exact, "reason": self.reason,
            "abstained": self.abstained, "notes": list(self.notes),
            "standing": [_named(hit) for hit in self.standing],
            "quotes": [quote.to_dict() for quote in self.quotes],
        }  # fmt: skip


class Desk:
    """Where a block is put together: what may be spent, who counts, and from where memories count.

    Args:
        max_tokens: of the whole text.
        config: ``abstain_below``, ``context_full`` and ``context_abbreviated`` are used.
    """

    def __init__(self, counter: TokenCounter, max_tokens: int, config: Config) -> None:
        self._counter = counter
        self._max = max_tokens
        self._config = config

    def empty(
        self, reason: str, *, abstained: bool = False, standing: _Standing | None = None
    ) -> Context:
        """No memory, and why; instructions that hold are quoted all the same."""
        if standing is not None and standing.hits:
            text = Block(standing.section).text()
            return replace(
                self.empty(reason, abstained=abstained), text=text, tokens=self._counter(text),
                standing=standing.hits,
            )  # fmt: skip
        return Context(
            max_tokens=self._max, tokenizer=self._counter.name, exact=self._counter.exact,
            reason=reason, abstained=abstained,
        )  # fmt: skip

    def context(
        self, hits: HitList, cue: str | None, k: int, *, cut: float = 0.0, always: bool = False,
        rules: Sequence[Hit] = (),
    ) -> Context:
        """The block of the best k of ``hits``, and what became of each.

        Args:
            hits: of one recall, more than k of them, so that there is a crowd to stand out from.
            cut: see `RecallOptions`.
            always: also when none of them seems to answer.
            rules: instructions that hold whatever the cue is about, beside ``hits.standing``.
        """
        standing = self._standing((*hits.standing, *rules))
        hits = _without(hits, standing.hits)
        if not hits:
            return self.empty(
                hits.reason or "nothing found", abstained=hits.abstained, standing=standing
            )
        verdict = judge(hits.signals, 0.0 if always else self._config.abstain_below)
        if verdict.silent:
            return self.empty(verdict.reason, abstained=True, standing=standing)
        least = least_of(hits.signals, self._config.context_abbreviated)
        draft = _Draft(
            self._counter, self._max, cue or "", (self._config.context_full, least),
            standing.section,
        )  # fmt: skip
        hits = HitList(
            unrepeated(hits), hits.stats, signals=hits.signals, is_survey=hits.is_survey
        )
        draft.marks = _marks_of(hits[:k], cue or "")
        near = near_the_best(hits[:k], cut) if has_likeness(hits.signals) else hits
        kept = {hit.id for hit in near}
        survey = hits.is_survey  # each is as good an answer as the other
        values = [1.0] * len(hits) if survey else relevances([hit.score for hit in hits])
        quotes, tokens = draft.settle([
            draft.consider(
                Quote(hit=hit, form="full", relevance=value), "" if hit.id in kept else _FAR
            )
            for hit, value in zip(hits[:k], values, strict=False)
        ])  # fmt: skip
        text = draft.text()
        quoted_any = any(quote.form != "skipped" for quote in quotes)
        return replace(
            self.empty("" if quoted_any else "no memory fits the budget"),
            text=text, tokens=tokens, quotes=tuple(quotes), standing=standing.hits,
        )  # fmt: skip

    def _standing(self, hits: Sequence[Hit]) -> _Standing:
        """The first of some instructions, each whole, as many as their share has room for."""
        room = int(_STANDING_SHARE * self._max)
        kept: list[Hit] = []
        lines: list[Line] = []
        section = ""
        for hit in unrepeated(hits):
            if len(hit.text) > _CHARS_PER_TOKEN * room:
                continue
            line = line_of(hit, quoted(hit.text), whole=False, cut=False)
            longer = standing_section([*lines, line])
            # with the frame: alone it must fit as well
            whole = Block(longer).text()
            if self._counter(longer) <= room and self._counter(whole) <= self._max:
                kept.append(hit)
                lines.append(line)
                section = longer
        return _Standing(tuple(kept), section)


class _Standing(NamedTuple):
    """Instructions that are quoted, and their section."""

    hits: tuple[Hit, ...]
    section: str


class _Draft:
    """The block under construction: what is in it, and what is left of the budget."""

    def __init__(
        self, counter: TokenCounter, max_tokens: int, cue: str, relevance: tuple[float, float],
        section: str = "",
    ) -> None:
        #: from which a memory is quoted in full, and from which it is quoted at all
        self._full, self._least = relevance
        self._count = counter
        self._max = max_tokens
        self._words = cue_words(cue)
        #: id -> "older" or "newer", of memories that answer the same
        self.marks: Mapping[int, str] = {}
        self._block = Block(section)
        #: tokens of the words that have been counted
        self._known: dict[str, int] = {}
        #: tokens that are left, were every line counted by itself
        self._left = max_tokens - counter(FRAME + section)
        self._share = max(_ABBREVIATED_TOKENS, max_tokens // _SHARE)

    def text(self) -> str:
        return self._block.text()

    def consider(self, quote: Quote, reason: str) -> Quote:
        """Put a hit into the block in the form it deserves, if there is room."""
        hit = quote.hit
        if not reason and not hit.text.strip():
            reason = "its words are lost"
        if not reason and quote.relevance < self._least:
            reason = f"relevance {quote.relevance:.2f} is below {self._least:g}"
        if reason:
            return replace(quote, form="skipped", reason=reason)
        whole = quote.relevance >= self._full
        limits = (self._share, _ABBREVIATED_TOKENS) if whole else (_ABBREVIATED_TOKENS,)
        for limit in limits:
            line = self._line(hit, limit, whole=whole)
            tokens = self._price(line)
            if line is None or tokens > self._left:
                continue
            self._block.put(line)
            self._left -= tokens
            if not whole:
                reason = f"relevance {quote.relevance:.2f} is below {self._full:g}"
            return _written(quote, line, tokens, reason)
        return replace(quote, form="skipped", reason=_NO_ROOM)

    def settle(self, quotes: list[Quote]) -> tuple[list[Quote], int]:
        """Give what is left to memories that were cut for their length; take back what is over.

        Returns:
            The quotes as they are now, and the tokens of the text.
        """
        for n, quote in enumerate(quotes):
            if quote.reason == _TOO_LONG:
                quotes[n] = self._widened(quote)
        place = {quote.hit.id: n for n, quote in enumerate(quotes)}
        # a tokenizer may make more of the block than of its lines one by one
        while self._block and self._count(self.text()) > self._max:
            n = place[self._block.drop_last()]
            quotes[n] = replace(quotes[n], form="skipped", tokens=0, reason=_NO_ROOM)
        return quotes, self._count(self.text())

    def _widened(self, quote: Quote) -> Quote:
        """The same memory with as much of its text as the budget still allows."""
        before = self._block.line(quote.hit.id)
        room = self._left + quote.tokens
        words = room - (quote.tokens - self._tokens(before.words))
        for limit in (words, words * 9 // 10):  # what a line costs is not quite its parts' sum
            line = self._line(quote.hit, limit, whole=True)
            tokens = self._price(line)
            if line is not None and quote.tokens < tokens <= room:
                self._block.put(line)
                self._left -= tokens - quote.tokens
                return _written(quote, line, tokens, "")
        return quote

    def _line(self, hit: Hit, limit: int, *, whole: bool) -> Line | None:
        """The line of a memory with at most ``limit`` tokens of its words."""

        def cost(text: str) -> int:
            if len(text) > _CHARS_PER_TOKEN * limit:
                return limit + 1
            return self._tokens(quoted(text))

        if limit < 1:
            return None
        if cost(hit.text) <= limit:
            return line_of(
                hit, quoted(hit.text), whole=whole, cut=False, mark=self.marks.get(hit.id, "")
            )
        part = excerpt(hit.text, self._words, limit, cost)
        if not part:
            return None
        mark = self.marks.get(hit.id, "")
        return line_of(hit, quoted(part), whole=whole, cut=True, mark=mark)

    def _price(self, line: Line | None) -> int:
        """Tokens of a line and of the heading that it needs."""
        if line is None:
            return 0
        *headings, shown = self._block.added_by(line)
        head = shown.removesuffix(f"{line.words}\n")
        # one more for what a space or a line break may cost by itself
        return sum(map(self._tokens, (*headings, head, line.words))) + 1

    def _tokens(self, text: str) -> int:
        """Tokens of a part of the block; each is counted once."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._count(text)
        return found


def _written(quote: Quote, line: Line, tokens: int, reason: str) -> Quote:
    """The quote of a hit whose line is in the block; without a reason it is there in full."""
    reason = reason or (_TOO_LONG if line.cut else "")
    form = "abbreviated" if reason else "full"
    return replace(quote, form=form, tokens=tokens, reason=reason)


def _named(hit: Hit) -> dict[str, Any]:
    """Which memory, JSON-ready."""
    return {
        "id": hit.id, "event_time": iso_of_ms(hit.record.event_ms), "session_id": hit.session_id,
        "score": round(hit.score, 6),
    }  # fmt: skip


def _without(hits: HitList, some: Sequence[Hit]) -> HitList:
    """The hits but for those that are quoted elsewhere: part of them may be an instruction."""
    gone = {hit.id for hit in some}
    if not any(hit.id in gone for hit in hits):
        return hits
    return HitList(
        [hit for hit in hits if hit.id not in gone], hits.stats, signals=hits.signals,
        abstained=hits.abstained, reason=hits.reason or "it is quoted as an instruction",
        is_survey=hits.is_survey,
    )  # fmt: skip


def _marks_of(hits: Sequence[Hit], cue: str) -> dict[int, str]:
    """Which of the best hits are older than another one that answers the cue anew, which newer."""
    newer = outdated(hits, cue) if cue else {}
    marks = {each: "newer" for several in newer.values() for each in several}
    return marks | dict.fromkeys(newer, "older")
