"""Builds a context: memories written down for a prompt within a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Final, NamedTuple

from spector.config import Config, Layout
from spector.language.statements import cue_words
from spector.messages import counted
from spector.providers import TokenCounter
from spector.recall.abstention import choose_hits
from spector.recall.context import Context, Quote
from spector.recall.quoting import Block, Line, Order, line_within, order_of, predicted, with_ending
from spector.records import Hit, HitList, PredictedOutcome
from spector.search import CUT, is_bare_node, quote_text, without_repeats

#: tokens of the words of an abbreviated memory
_ABBREVIATED_TOKENS: Final = 40
#: a memory takes at most this share of the budget while others wait
_SHARE: Final = 4
#: of the budget, what instructions that hold may take with their heading
_STANDING_PERCENT: Final = 15
#: titles of the sections
_STANDING: Final = "standing instructions"
_PINNED: Final = "pinned"
_HOT: Final = "always"
_KNOWN: Final = "known"
#: of the budget, what hot memories may take with their heading
_HOT_PERCENT: Final = 25
#: lines of what is known
_MOST_KNOWN: Final = 8
_NO_ROOM: Final = "no room left in the budget"
_TOO_LONG: Final = "too long"
_BEGINNING: Final = "too long: its beginning is quoted before all others"


@dataclass(frozen=True, slots=True, eq=False)
class ContextBuilder:
    """Builds contexts within a budget of tokens.

    Args:
        counter: counts the tokens of a text.
        max_tokens: of the whole text.
        config: ``abstain_below`` and those that begin with ``context`` are used.
        layout, ids: see `Block`.
        zone: of the days under which memories stand.
    """

    counter: TokenCounter
    max_tokens: int
    config: Config
    layout: Layout = "compact"
    ids: bool = False
    zone: tzinfo = UTC

    def empty(self, reason: str, *, pinned: Sequence[Hit] = ()) -> Context:
        """A context that abstains, and why; pinned memories are quoted all the same."""
        return self._empty(self._first((), pinned), reason, abstained=True)

    def _empty(self, first: _First, reason: str, *, abstained: bool = False) -> Context:
        text = self.block(first.text).text()
        return Context(
            text=text,
            tokens=self.counter(text) if text else 0,
            max_tokens=self.max_tokens,
            tokenizer=self.counter.name,
            exact=self.counter.exact,
            reason=reason,
            abstained=abstained,
            standing=first.standing.hits,
            pinned=first.pinned.hits,
            hot=first.hot.hits,
            notes=first.notes,
        )

    def context(
        self,
        hits: HitList,
        cue: str | None,
        k: int,
        *,
        cut: float = CUT,
        always: bool = False,
        rules: Sequence[Hit] = (),
        pinned: Sequence[Hit] = (),
        hot: Sequence[Hit] = (),
    ) -> Context:
        """The context of the best k of ``hits``, and what became of each.

        Args:
            hits: of one recall; more than k, so that there is a crowd to stand out from.
            cut, always: see `choose_hits`.
            rules: instructions for every cue, beside ``hits.standing``.
            pinned: memories that are quoted before all others, as many as fit.
            hot: memories that are quoted next, within a quarter of the budget.
        """
        apart = {hit.id for hit in (*pinned, *hot)}
        limits = [hit for hit in hits.limits if hit.id not in apart]
        first = self._first((*hits.standing, *limits, *rules), pinned, hot)
        asked = bool(hits.standing or limits)  # the cue itself is about them
        hits = hits._holding([hit for hit in hits if not is_bare_node(hit.record)])
        if not hits:
            reason = hits.reason or ("an instruction is about it" if asked else "nothing found")
            return self._empty(first, reason, abstained=hits.abstained and not asked)
        hits = hits._holding(without_repeats(hits))
        verdict, found = choose_hits(hits, k, self.config, cut=cut, always=always)
        if verdict.silent:
            reason = verdict.reason + ", but an instruction is about it" * asked
            return self._empty(first, reason, abstained=not asked)
        draft = _Draft(self, cue or "", first)
        draft.order = order_of(hits, k)
        quotes, tokens = draft.settle(
            [
                draft.consider(Quote(hit=hit, form="full", relevance=value), reason)
                for hit, value, reason in found
            ]
        )
        quoted = any(quote.form != "skipped" for quote in quotes)
        return replace(
            self._empty(first, "" if quoted else "no memory fits the budget"),
            text=draft.text(),
            tokens=tokens,
            quotes=tuple(quotes),
        )

    def block(self, section: str = "") -> Block:
        """A block without lines, behind a text."""
        return Block(self.layout, ids=self.ids, section=section, zone=self.zone)

    def with_knowledge(
        self,
        found: Context,
        hits: HitList,
        known: Sequence[Hit] = (),
        predictions: Sequence[PredictedOutcome] = (),
    ) -> Context:
        """A context with lines of what is known at its end, as many as the budget has room for.

        Themes of the recall come first, those of which no source is quoted.
        """
        shown = {
            each
            for hit in (*found.hits, *found.standing, *found.pinned, *found.hot)
            for each in (hit.id, *hit.also)
        }
        themes = hits._themes_beside(shown)
        if not (themes or known or predictions) or not found.text:
            return found
        block, quoted = self.block(), list[Hit | None]()
        lines = [
            f"- prediction: {quote_text(predicted(each))}\n" for each in predictions[:_MOST_KNOWN]
        ]
        quoted += [None] * len(lines)
        for hit in (*themes, *known):
            if hit.id not in shown and len(lines) < _MOST_KNOWN and hit.text.strip():
                most = self.config.sleep.summary_tokens if hit in themes else _ABBREVIATED_TOKENS
                line = line_within(hit, most, self.counter, zone=self.zone)
                if line is not None:
                    lines.append(block.alone(line) + "\n")
                    quoted.append(hit)
        while lines:
            text = with_ending(found.text, block.titled(_KNOWN, lines))
            tokens = self.counter(text)
            if tokens <= self.max_tokens:
                kept = tuple(hit for hit in quoted if hit is not None)
                return replace(found, text=text, tokens=tokens, known=kept)
            lines.pop()
            quoted.pop()
        return found

    def _first(
        self, standing: Sequence[Hit], pinned: Sequence[Hit], hot: Sequence[Hit] = ()
    ) -> _First:
        """The first sections: instructions within their share, or one, pinned and hot memories."""
        rules = self._section(_STANDING, standing, percent=_STANDING_PERCENT, whole=True)
        if not rules.hits:
            rules = self._section(_STANDING, standing, whole=True, most=1)
        stands = {hit.id for hit in rules.hits}
        left = len(without_repeats([hit for hit in standing if hit.text.strip()])) - len(stands)
        notes = (f"no room for {counted(left, 'standing instruction')}",) if left else ()
        kept = [hit for hit in pinned if hit.id not in stands]
        first = _First(rules, self._section(_PINNED, kept, before=rules.text), notes)
        there = {*stands, *(hit.id for hit in first.pinned.hits)}
        left_over = [hit for hit in hot if hit.id not in there]
        return first._replace(
            hot=self._section(_HOT, left_over, before=first.text, percent=_HOT_PERCENT)
            if left_over
            else _NO_SECTION
        )

    def _section(
        self,
        title: str,
        hits: Sequence[Hit],
        *,
        before: str = "",
        percent: int = 100,
        whole: bool = False,
        most: int | None = None,
    ) -> _Section:
        """A section after the text ``before``, of at most so many percent of the budget.

        Its memories stay in their order; one that does not fit gives way to the next. With
        ``whole`` none is cut; without, one that is too long is quoted by its beginning.
        """
        frame = self.counter(self.block(before).frame)
        room = min(self.max_tokens * percent // 100, self.max_tokens - frame)
        block, left = self.block(), room - self.counter(f"{title}:\n")
        kept: dict[int, tuple[Hit, Line]] = {}
        with_text = [hit for hit in hits if hit.text.strip()]
        for hit in without_repeats(with_text):
            line = line_within(hit, left, self.counter, whole=not whole, zone=self.zone)
            if line is not None and line.cut:
                shorter = min(left, _ABBREVIATED_TOKENS)
                line = None if whole else line_within(hit, shorter, self.counter, zone=self.zone)
            price = self.counter(block.section("", [line])) if line is not None else 0
            if line is not None and price <= left:
                kept[hit.id] = hit, line
                left -= price
            if left < 1 or len(kept) == most:
                break
        while kept:
            text = block.section(title, [line for _, line in kept.values()])
            whole_text = self.block(before + text).text()
            if self.counter(text) <= room and self.counter(whole_text) <= self.max_tokens:
                cut = frozenset(line.id for _, line in kept.values() if line.cut)
                return _Section(tuple(hit for hit, _ in kept.values()), text, cut)
            kept.popitem()
        return _NO_SECTION


def quoted_line(
    hit: Hit, counter: TokenCounter, max_tokens: int, cue: str | None = None
) -> str | None:
    """A memory as one quoted line with its date, complete by itself; None if there is no room.

    Args:
        cue: what an excerpt is about, if the whole text is too long.
    """
    block, words = Block(), cue_words(cue or "")
    room = max_tokens
    for _ in range(4):  # the line around the words costs tokens, too
        line = line_within(hit, room, counter, words)
        if line is None:
            return None
        text = block.alone(line)
        excess = counter(text) - max_tokens
        if excess <= 0:
            return text
        room -= excess
    return None


class _Section(NamedTuple):
    """Memories that are quoted whatever the cue, their text, and the ids of those that are cut."""

    hits: tuple[Hit, ...]
    text: str
    cut: frozenset[int]


_NO_SECTION: Final = _Section((), "", frozenset())


class _First(NamedTuple):
    """The sections before all other lines."""

    standing: _Section
    pinned: _Section
    notes: tuple[str, ...] = ()
    hot: _Section = _NO_SECTION

    @property
    def text(self) -> str:
        return self.standing.text + self.pinned.text + self.hot.text


class _Draft:
    """A block under construction, and what is left of its budget."""

    def __init__(self, builder: ContextBuilder, cue: str, first: _First) -> None:
        #: relevance from which a memory is quoted in full
        self._full = builder.config.context_full
        self._zone, self._max, self._count = builder.zone, builder.max_tokens, builder.counter
        self._words = cue_words(cue)
        self.order = Order({}, {})
        #: memories that found no room: what they stand for would be taken for what holds
        self._lacking: set[int] = set()
        self._block = builder.block(first.text)
        #: memory -> why it is not in full in the section of pinned ones, "" if it is
        self._elsewhere = {
            hit.id: _BEGINNING if hit.id in section.cut else ""
            for section in (first.pinned, first.hot)
            for hit in section.hits
        }
        self._hot = frozenset(hit.id for hit in first.hot.hits)
        #: memories that are instructions as well, in full
        self._stands = frozenset(hit.id for hit in first.standing.hits)
        #: tokens of the words that have been counted
        self._known: dict[str, int] = {}
        #: tokens that are left, were every line counted by itself
        self._left = self._max - self._count(self._block.frame)
        self._share = max(_ABBREVIATED_TOKENS, self._max // _SHARE)

    def text(self) -> str:
        return self._block.text()

    def consider(self, quote: Quote, reason: str) -> Quote:
        """Put a hit into the block, in full or abbreviated by its relevance, if there is room."""
        hit = quote.hit
        by_itself = not (reason and hit.id in self._hot)  # a hot one need not be about the cue
        if hit.id in self._elsewhere and by_itself:  # where it costs nothing more
            why = self._elsewhere[hit.id]
            return replace(quote, form="abbreviated" if why else "full", reason=why)
        if not reason and not hit.text.strip():
            reason = "its text is lost"
        if reason:
            return replace(quote, form="skipped", reason=reason)
        if hit.id in self._stands:
            return replace(quote, form="full", reason="")
        if self.order.heads.get(hit.id) in self._lacking:
            return replace(quote, form="skipped", reason=_NO_ROOM)
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
            return _write_quote(quote, line, tokens, reason)
        self._lacking.add(hit.id)
        return replace(quote, form="skipped", reason=_NO_ROOM)

    def settle(self, quotes: list[Quote]) -> tuple[list[Quote], int]:
        """Spend what is left on memories that were cut; drop lines while the block is too long.

        Returns:
            The quotes as they are now, and the tokens of the text.
        """
        for n, quote in enumerate(quotes):
            if quote.reason == _TOO_LONG:
                quotes[n] = self._widen(quote)
        place = {quote.hit.id: n for n, quote in enumerate(quotes)}
        # a tokenizer may make more of the block than of its lines one by one
        while (total := self._count(self.text())) > self._max and self._block:
            n = place[self._block.drop_last()]
            quotes[n] = replace(quotes[n], form="skipped", tokens=0, reason=_NO_ROOM)
        return quotes, total if self.text() else 0

    def _widen(self, quote: Quote) -> Quote:
        """The same memory with as much of its text as the budget still allows."""
        before = self._block.line(quote.hit.id)
        room = self._left + quote.tokens
        words = room - (quote.tokens - self._tokens(before.words))
        for limit in (words, words * 9 // 10):  # what a line costs is not quite its parts' sum
            line = self._line(quote.hit, limit)
            tokens = self._price(line)
            if line is not None and quote.tokens < tokens <= room:
                self._block.put(line)
                self._left -= tokens - quote.tokens
                return _write_quote(quote, line, tokens, "")
        return quote

    def _line(self, hit: Hit, limit: int, *, whole: bool = True) -> Line | None:
        mark, head = self.order.marks.get(hit.id, ""), self.order.heads.get(hit.id)
        line = line_within(
            hit,
            limit,
            self._tokens,
            self._words,
            whole=whole,
            zone=self._zone,
            mark=mark if head is None else "",
        )
        if line is None or head is None:
            return line
        return replace(line, aside=mark, head=head)

    def _price(self, line: Line | None) -> int:
        """Tokens of a line and of what else the block needs for it."""
        if line is None:
            return 0
        *others, shown = self._block.added_by(line)
        head = shown.removesuffix(f"{line.words}\n")
        # one more for what a space or a line break may cost by itself
        return sum(map(self._tokens, (*others, head, line.words))) + 1

    def _tokens(self, text: str) -> int:
        """Tokens of a part of the block; each is counted once."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._count(text)
        return found


def _write_quote(quote: Quote, line: Line, tokens: int, reason: str) -> Quote:
    """The quote of a hit whose line is in the block; without a reason it is there in full."""
    reason = reason or (_TOO_LONG if line.cut else "")
    form = "abbreviated" if reason else "full"
    return replace(quote, form=form, tokens=tokens, reason=reason)
