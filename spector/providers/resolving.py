"""From the arguments of a user to embedders, chat models and detectors; what is not named stays unloaded."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar

from spector.errors import EmbeddingError, InvalidInputError, LLMError, SpectorError
from spector.messages import install_command, shown
from spector.providers.protocols import Detectors, Embedder, FactExtractor

if TYPE_CHECKING:
    from spector.providers.protocols import LLM, Summarizer


T = TypeVar("T")
_CHOICES = 'use "default", "openai", "openai:MODEL", None with vector=, or an object with embed()'


def resolve(
    embedder: str | Embedder | None, *, cache_entries: int = 0, cache_ttl_s: float = 1800.0
) -> Embedder | None:
    """The embedder for a user's argument; loads no model and opens no connection.

    Args:
        embedder: ``"default"``, ``"openai"``, ``"openai:MODEL"``, an ``Embedder``, or None for
            callers with vectors of their own.
        cache_entries: put a ``CachedEmbedder`` of this size in front; 0 for none.
        cache_ttl_s: lifetime of a cached vector in seconds.

    Raises:
        InvalidInputError: an unknown name, or an object without the protocol.
        EmbeddingError: the embedder cannot be described, e.g. without an API key.
    """
    if embedder is None:
        return None
    from spector.providers.cache import CachedEmbedder

    found = _embedder_by_name(embedder) if isinstance(embedder, str) else _check_embedder(embedder)
    if cache_entries and not isinstance(found, CachedEmbedder):
        return CachedEmbedder(found, cache_entries, cache_ttl_s)
    return found


def load_ahead(embedder: Embedder | None) -> None:
    """Load the model of this process now, so that what comes next does not wait for it.

    A service is not asked: it would get a text that no store has.
    """
    if embedder is None:
        return
    from spector.providers.cache import CachedEmbedder
    from spector.providers.minilm import MiniLMEmbedder

    model = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    if isinstance(model, MiniLMEmbedder):
        model.embed(["ready"])


def resolve_llm(llm: LLM | str | None) -> LLM | None:
    """The chat model of a user's argument; opens no connection.

    Raises:
        InvalidInputError: an unknown name, or an object without the protocol.
        LLMError: the client is not installed.
    """
    if llm is None:
        return None
    if isinstance(llm, str):
        models = _models_of_openai(llm, LLMError)
        if models is not None:
            from spector.providers.openai import OpenAILLM

            return OpenAILLM(*models)
        fault = "is unknown"
    elif _offers(llm, "complete"):
        return llm
    else:
        fault = "has no method complete(system, user)"
    raise InvalidInputError(
        f"llm {shown(llm)} {fault}",
        hint='use "openai", "openai:MODEL" or an object with complete()',
    )


def resolve_extractor(llm: LLM | None, extractor: FactExtractor | None) -> FactExtractor | None:
    """What reads statements: the extractor, else one over the model, else None for the rules.

    Raises:
        InvalidInputError: an object without the protocol.
    """
    if extractor is not None or llm is None:
        return _checked("fact_extractor", extractor, "extract(text)", "FactExtractor")
    from spector.providers.asking import LLMFactExtractor

    return LLMFactExtractor(llm)


def own_extractor(extractor: FactExtractor | None) -> FactExtractor | None:
    """An extractor that a caller gave; the one over the chat model is none of his."""
    from spector.providers.asking import LLMFactExtractor

    return None if isinstance(extractor, LLMFactExtractor) else extractor


def resolve_detectors(detectors: Detectors | None) -> Detectors:
    """The detectors of a memory, each an object with its method.

    Raises:
        InvalidInputError: an object of another kind.
    """
    if detectors is None:
        return Detectors()
    if not isinstance(detectors, Detectors):
        raise InvalidInputError(
            f"detectors must be spector.Detectors, got {shown(detectors)}",
            hint="write detectors=spector.Detectors(emotion=...)",
        )
    for name, (protocol, *calls) in _DETECTING.items():
        for call in calls:
            _checked(f"detectors.{name}", getattr(detectors, name), call, protocol)
    return detectors


#: stage -> the protocol of its detector, and the methods that it must have
_DETECTING: Final = {
    "references": ("CoreferenceResolver", "resolve()"),
    "entities": ("EntityExtractor", "entities()"),
    "emotion": ("EmotionDetector", "detect()"),
    "relations": ("RelationDetector", "relate()"),
    "intent": ("IntentClassifier", "classify()"),
    "judge": ("Judge", "pairs()", "messages()"),
}


def resolve_summarizer(summarizer: Summarizer | None) -> Summarizer | None:
    """What condenses memories; None for an extract of their sentences.

    Raises:
        InvalidInputError: an object without the protocol.
    """
    return _checked("summarizer", summarizer, "summarize(texts, max_tokens=)", "Summarizer")


def _checked(argument: str, given: T, call: str, protocol: str) -> T:
    """What was given for an argument, which is None or has a method."""
    if given is None or _offers(given, call.partition("(")[0]):
        return given
    raise InvalidInputError(
        f"{argument} {shown(given)} has no method {call}",
        hint=f"pass an object with the {protocol} protocol",
    )


def _offers(thing: object, method: str) -> bool:
    """Whether it is an object, not a class, with this method."""
    return not isinstance(thing, type) and callable(getattr(thing, method, None))


def _embedder_by_name(name: str) -> Embedder:
    if name == "default":
        from spector.providers.minilm import MiniLMEmbedder

        return MiniLMEmbedder()
    models = _models_of_openai(name, EmbeddingError)
    if models is None:
        raise InvalidInputError(f"unknown embedder {shown(name)}", hint=_CHOICES)
    from spector.providers.openai import OpenAIEmbedder

    return OpenAIEmbedder(*models)


def _models_of_openai(name: str, error: type[SpectorError]) -> list[str] | None:
    """The model that a name has after ``openai:``, if any; None for another name.

    Raises:
        error: the client is not installed.
    """
    kind, colon, model = name.partition(":")
    models = [model.strip()] if colon else []
    if kind != "openai" or not all(models):
        return None
    if find_spec("openai") is None:
        raise error("the openai client is not installed", hint=install_command("openai"))
    return models


def _check_embedder(embedder: object) -> Embedder:
    """Return the object after checking that a store can stamp its attributes."""
    if isinstance(embedder, type):
        raise InvalidInputError(
            f"embedder is the class {embedder.__name__}, not an object",
            hint=f"write embedder={embedder.__name__}(...)",
        )
    kind = type(embedder).__name__
    for name, wanted in (("model_id", str), ("fingerprint", str), ("dim", int)):
        value = getattr(embedder, name, None)
        if not isinstance(value, wanted) or isinstance(value, bool) or not value:
            raise InvalidInputError(
                f"embedder {kind}.{name} must be a non-empty {wanted.__name__}, got {shown(value)}",
                hint=_CHOICES,
            )
    if embedder.dim < 1:  # type: ignore[attr-defined]  # checked above
        raise InvalidInputError(f"embedder {kind}.dim must be positive")
    if not _offers(embedder, "embed"):
        raise InvalidInputError(f"embedder {kind} has no method embed(texts)", hint=_CHOICES)
    assert isinstance(embedder, Embedder)
    return embedder
