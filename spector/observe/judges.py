"""Which judge a memory has, made at first use: the caller's own, the chat model, or the rules
beside the offline model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.config import Config
from spector.errors import InvalidInputError, StoreClosedError
from spector.messages import shown
from spector.process import Operations
from spector.providers import ChatModel, Detectors, Embedder
from spector.records import Judge, Judgement, MemoryRecord, Statement

if TYPE_CHECKING:
    from spector.observe.gate import Judging, Ordering
    from spector.observe.models import Models


_TASK = "observation"
#: how fingerprints of the offline embedder begin
_OF_EMBEDDER = "minilm:"


class Judges:
    """The judge of a memory; rules of language and models are loaded by the first question."""

    def __init__(
        self,
        detectors: Detectors,
        chat: ChatModel | None,
        embedder: Embedder | None,
        operations: Operations,
        config: Config,
    ) -> None:
        self._ordering: Ordering | None = None
        self._own = detectors.judge
        self._chat = chat if chat is not None and chat.does(_TASK) else None
        self._operations = operations
        self._config = config
        self._made: Judging | None = None
        #: the offline model is asked where no other one has judged: its embedder is used
        self._is_chosen = (
            config.observe.order_by == "model"
            and self._own is None
            and getattr(embedder, "fingerprint", "").startswith(_OF_EMBEDDER)
        )

    def judging(self) -> Judging | None:
        """What is asked beside the rules; None for nothing."""
        if self._made is None and (self._own is not None or self._chat is not None):
            from spector.observe.gate import Judging
            from spector.observe.models import LLMJudge

            judge: Judge | None = self._own
            if judge is None and (models := self.models()) is not None:
                judge = LLMJudge(models)
            assert judge is not None, "one of the two is there"
            self._made = Judging(judge, self._config.observe)
        return self._made

    def ordering(self) -> Ordering | None:
        """The offline model, where its embedder is used and no judge of the caller's; else None."""
        if self._ordering is None and self._is_chosen:
            from spector.observe.gate import Ordering
            from spector.providers import ChangeModel

            self._ordering = Ordering(ChangeModel())
        return self._ordering

    @property
    def kind(self) -> str:
        """What says what a message changes: the caller's ``own``, the ``llm``, the offline
        ``model``, or ``rules`` alone."""
        if self._own is not None:
            return "own"
        if self._chat is not None:
            return "llm"
        works = self._is_chosen if self._ordering is None else self._ordering.works
        return "model" if works else "rules"

    @property
    def own(self) -> Judging | None:
        """The caller's judge, which is asked about messages and pairs."""
        return None if self._own is None else self.judging()

    def models(self) -> Models | None:
        """The chat model that reads messages; None for none."""
        if self._chat is None:
            return None
        from spector.observe.models import Models

        return Models(self._chat, self._operations)

    def judgement(self, old: str | Statement, new: str | Statement) -> Judgement:
        """What becomes of two statements; see ``Memory.judge``."""
        from spector.observe.gate import judgement

        first, second = _statement(old, "old"), _statement(new, "new")
        judging, found, failure = self.judging(), None, ""
        if judging is not None:
            try:
                (found,) = judging.pairs([(first, second)])
            except StoreClosedError:
                raise
            except Exception as error:  # any judge may fail in any way: it is reported
                failure = str(error) or type(error).__name__
        return judgement(self._config.observe, first, second, found, failure, self.ordering())

    def says_the_same(self, one: MemoryRecord, other: MemoryRecord) -> bool:
        """Whether two memories that rules take for the same are so.

        A chat model is not asked: a night has a budget of questions, and this is no step of it.
        """
        return self.own is None or self.own.says_the_same(one, other)


def _statement(said: str | Statement, name: str) -> Statement:
    found = Statement(text=said) if isinstance(said, str) else said
    if (
        not isinstance(found, Statement)
        or not isinstance(found.text, str)
        or not found.text.strip()
        or any(type(each) not in (str, type(None)) for each in (found.role, found.speaker))
    ):
        raise InvalidInputError(
            f"{name} is {shown(said)}", hint="pass a text with words, or a spector.Statement"
        )
    return found
