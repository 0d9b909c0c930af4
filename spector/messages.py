"""Render and read arguments of callers without failing, whatever they are.

Arguments may be nested to any depth or contain themselves, have numbers of thousands of digits, or
be objects whose own methods raise. An error message about such an argument must not fail itself.
"""

from __future__ import annotations

import contextlib
import inspect
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, Final, TypeVar

from spector.errors import InvalidInputError, SpectorError, UnknownArgumentError

_MOST_CHARS: Final = 200


def _short() -> reprlib.Repr:
    short = reprlib.Repr()
    short.maxlevel = 4
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 20
    short.maxarray = short.maxdeque = 20
    return short


def shown(value: object) -> str:
    """``repr`` of anything in about 200 characters; its type where that raises."""
    try:
        if isinstance(value, (str, bytes)):
            text = repr(value[: _MOST_CHARS + 1])
        elif isinstance(value, (list, tuple, set, frozenset, dict)):
            text = _SHORT.repr(value)
        else:
            text = repr(value)
    except Exception:  # whatever its own method raises, RecursionError and MemoryError among it
        return f"an object of type {type(value).__name__}"
    if "\n" in text:  # of an array
        text = " ".join(text.split())
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."


_SHORT: Final = _short()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = _MOST_CHARS


def said(value: object) -> str:
    """``str`` of anything in about 200 characters; its type where that raises."""
    try:
        text = str(value[: _MOST_CHARS + 1]) if isinstance(value, (str, bytes)) else str(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."


class reading(contextlib.ContextDecorator):  # noqa: N801 - used like a function
    """Turn what an argument raises while it is read into an error that names it.

    Raises:
        InvalidInputError: of the class ``error``; what was raised is its cause.
    """

    def __init__(
        self, name: str, error: type[InvalidInputError] = InvalidInputError, hint: str = ""
    ) -> None:
        self.name, self._error, self._hint = name, error, hint

    def __enter__(self) -> reading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: object
    ) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, (SpectorError, MemoryError)):
            raise self._error(
                f"{said(self.name)} cannot be read: {type(problem).__name__}: {said(problem)}",
                hint=self._hint or "pass a plain value, not an object that fails when it is asked",
            ) from problem


def items_of(
    values: Iterable[Any], name: str, error: type[InvalidInputError] = InvalidInputError
) -> Iterator[Any]:
    """The items of an argument; what it raises becomes an error that names it.

    Raises:
        InvalidInputError: of the class ``error``.
    """
    about = reading(name, error, "pass a list")
    with about:
        items = iter(values)
    while True:
        with about:
            item = next(items, _END)
        if item is _END:
            return
        yield item


_END: Final = object()


# Numbers in texts that people read.


def counted(number: int, what: str, several: str = "", *, commas: bool = False) -> str:
    """1 -> "1 memory", 2 -> "2 memories"; ``several`` where the rule does not make it.

    ``commas``: 4096 -> "4,096 bytes", for numbers that are large.
    """
    if number == 1:
        return f"1 {what}"
    ends = what.endswith("y") and what[-2:-1] not in ("a", "e", "i", "o", "u")
    shown = f"{number:,}" if commas else str(number)
    return f"{shown} {several or (f'{what[:-1]}ies' if ends else f'{what}s')}"


# Commands that install what is missing.

#: name on the index; its packages are imported as ``spector``
DISTRIBUTION: Final = "spector-memory"


def install_command(extra: str = "") -> str:
    """The command that installs the distribution with an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"


# The right name beside a wrong one: names that other libraries and databases use, and typos.
#
# ``memory.add`` is an AttributeError all the same, so ``hasattr`` stays False; it says "did you mean
# remember?". A keyword that no verb has is an :class:`UnknownArgumentError`, a TypeError, and says
# which one is meant.

_Call = TypeVar("_Call", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


def _table(lines: Mapping[str, str]) -> dict[str, list[str]]:
    """What is meant, with the names that are used for it -> name, with what it may mean."""
    out: dict[str, list[str]] = {}
    for meant, names in lines.items():
        for name in names.split():
            out.setdefault(name, []).append(meant)
    return out


#: names of methods elsewhere -> how it is written here
_METHODS: Final = _table(
    {
        "remember": "add insert save store put write create upsert append add_memory save_memory"
        " store_memory create_memory add_text add_document add_message ingest memorize memorise record"
        " learn push set save_context add_episode log_memory new",
        "remember_many": "add_texts add_documents add_many add_all add_messages add_memories"
        " insert_many bulk_insert bulk_add batch_add batch extend upsert_many put_many save_all",
        "recall": "search query find retrieve lookup look_up ask similarity_search semantic_search"
        " vector_search similarity_search_with_score similarity_search_by_vector get_relevant_documents"
        " get_relevant_memories search_memory search_memories retrieve_memories find_similar nearest"
        " knn match select invoke",
        "context": "prompt to_prompt as_prompt get_context build_context load_memory_variables"
        " format_context",
        "records": "get_all all list items values entries memories list_memories get_memories fetch_all"
        " find_all list_all load_all scan iterate peek iter",
        "get": "fetch read get_by_id get_memory get_record get_one find_by_id retrieve_by_id fetch_one",
        "update": "edit modify patch change update_memory set_metadata move",
        "forget": "delete remove erase drop discard pop purge expire delete_memory delete_many"
        " remove_memory delete_by_id invalidate",
        "forget(user_id=...)": "delete_all delete_user remove_user forget_user clear_user erase_user",
        "forget(...) with a selection, or delete the directory": (
            "clear clear_all reset reset_all wipe truncate empty drop_all delete_collection"
        ),
        "remember(..., supersedes=id)": "supersede replace overwrite correct",
        "history(id)": "versions audit get_history timeline changes",
        "len(memory)": "size length total num_memories ntotal",
        "count(...)": "count_memories number_of",
        "users()": "list_users get_users user_ids all_users",
        "namespaces()": "list_namespaces get_namespaces",
        "stats()": "info status describe metrics get_stats health summary",
        "check()": "verify validate fsck integrity_check health_check",
        "compact()": "vacuum optimize optimise gc defrag cleanup prune",
        "checkpoint()": "flush commit persist sync save_local fsync",
        "close()": "shutdown disconnect stop quit exit dispose release",
        "backup(dest)": "snapshot copy clone save_to",
        "export(target)": "dump to_json to_jsonl export_json export_all to_file",
        "import_(source)": "load from_json import_json import_all load_from from_file",
        "spector.restore(backup, dest)": "restore",
        "reflect()": "consolidate sleep dream summarize summarise",
        "reinforce(id)": "feedback rate upvote boost strengthen",
        "pin(id)": "protect star keep favorite favourite",
    }
)

#: names of the package elsewhere
_FUNCTIONS: Final = _table(
    {
        "open": "Client MemoryClient PersistentClient AsyncClient EphemeralClient connect load create"
        " init new client Store MemoryStore Database DB Index Collection from_config Spector",
        "Memory": "AsyncMemory memory",
        "check": "verify fsck",
        "restore": "recover",
    }
)

#: names of methods elsewhere -> how it is written here, of facets; of several what the facet has
_OF_FACETS: Final = _table(
    {
        "about": "search lookup for_subject of_subject by_subject of_entity",
        "find": "search query lookup get match resolve get_entity",
        "for_situation": "search query find match relevant recall suggest retrieve",
        "relevant": "search query find match for_situation recall suggest retrieve",
        "similar": "search query nearest recall retrieve",
        "query": "search all list find select filter items records match get_all values iterate",
        "all": "list items records get_all values query iterate",
        "of": "memory memories for_memory mentions mentioned_in",
        "profile": "describe summary show details get",
        "get": "fetch read get_by_id one",
        "add": "create insert new put remember store save append",
        "forget": "delete remove drop erase",
        "merge": "join combine unify same_as",
        "record_outcome": "outcome record report feedback log used ran",
        "set_status": "status activate deprecate enable disable",
        "validate": "confirm verify check",
        "apply": "use applied used",
        "neighbours": "neighbors adjacent adjacency near around expand connections related",
        "edges": "links relations relationships triples get_edges",
        "link": "add add_edge connect relate create_edge",
        "unlink": "remove_edge disconnect delete",
        "path": "shortest_path find_path route paths",
        "walk": "traverse bfs crawl",
        "pagerank": "rank centrality page_rank",
        "central": "hubs top important",
        "activate": "spread spreading_activation propagate",
        "find_or_create": "add create insert new get_or_create upsert",
        "statistics": "numbers figures",
        "stats": "info status",
    }
)

#: keywords elsewhere -> ours; of several meanings that which the verb has
_KEYWORDS: Final = _table(
    {
        "k": "top_k topk limit n n_results num_results max_results results size top max_hits count"
        " similarity_top_k num_memories page_size",
        "limit": "top_k n count max_results",
        "user_id": "user userid user_name username uid owner owner_id customer customer_id tenant"
        " tenant_id namespace account person",
        "agent_id": "agent agentid bot bot_id assistant_id app_id app",
        "session_id": "session sessionid thread thread_id conversation conversation_id chat_id run_id"
        " chat room group_id",
        "where": "filters filter metadata_filter where_filter query_filter conditions predicate expr"
        " where_document metadata match",
        "cue": "query text q question prompt search query_text query_texts search_query input message"
        " messages content",
        "text_or_message": "text content message messages document documents data memory body value"
        " page_content texts input",
        "items": "texts messages documents memories records data",
        "text": "content message new_text data memory body value",
        "target": "id ids memory_id memory_ids record_id record_ids doc_id uuid memory key file"
        " filename path dest output out",
        "vector": "embedding embeddings query_embedding query_embeddings query_vector emb vectors",
        "metadata": "meta metadatas payload properties attributes extra custom custom_metadata",
        "tags": "tag labels label keywords topics categories",
        "any_tags": "tags_any anytags",
        "tiers": "tier type types memory_type layer layers collection",
        "tier": "tiers type memory_type layer collection kind",
        "category": "categories type",
        "modality": "modalities",
        "selective": "threshold score_threshold similarity_threshold min_similarity cutoff"
        " score distance_threshold relevance_threshold",
        "mmr": "diversity rerank lambda_mult",
        "max_tokens": "token_limit max_token budget tokens max_length token_budget limit",
        "event_time": "timestamp created_at date when time datetime ts at happened_at",
        "time_range": "date_range between since until start end period time after before start_time"
        " end_time",
        "as_of": "at timestamp asof at_time",
        "expires_in": "ttl time_to_live lifetime",
        "expires_at": "expiration_date expires expiry expiration expire_at",
        "valid_until": "valid_to ttl expires_at expiration_date expires expiry expiration",
        "valid_from": "starts_at start",
        "importance": "priority weight salience score",
        "pinned": "pin protected important",
        "role": "speaker author sender",
        "supersedes": "replaces supersede replace",
        "parents": "parent parent_id parent_ids",
        "embedder": "model embedding_model embedding_function embed embeddings encoder embed_fn",
        "mode": "read_only readonly access",
        "dim": "dimension dims dimensions embedding_dim vector_size",
        "path": "persist_directory directory dir db_path location uri url database root folder"
        " filename",
        "dest": "destination target to out output path",
        "source": "file filename path src",
        "if_revision": "expected_revision revision version expected_version if_match",
        "offset": "skip start page from",
        "overwrite": "force replace exist_ok",
        "force": "overwrite replace exist_ok",
        "purge": "hard permanent permanently erase hard_delete",
        "dry_run": "dry preview simulate",
        "progress": "on_progress callback show_progress progress_bar",
        "options": "params settings search_params",
    }
)

#: keywords of what observes a message -> the key of the message that is meant
_OF_A_MESSAGE: Final = {"role": "role", "speaker": "name", "sender": "name", "author": "name"}

#: verb -> arguments that come first and have a name of their own
_FIRST: Final = {
    "export": ("target", "vectors", "overwrite", "skip_damaged", "progress"),
    "forget": ("target", "purge", "verify", "include_protected", "skip_protected"),
    "records": ("as_of",),
    "remember": ("text_or_message", "text"),
    "remember_many": ("items", "progress"),
    "update": ("target",),
}


#: of the package and of a memory; all others are facets
_TABLES: Final = {"spector": _FUNCTIONS, "Memory": _METHODS, "Session": _METHODS}


def refuse_unknown(given: Iterable[str], known: Iterable[str], verb: str) -> None:
    """Raise for the first name that is not known.

    Args:
        verb: whose arguments they are, "recall", or with the place of another one, "spector.open".

    Raises:
        UnknownArgumentError: naming it, and the one that is meant or the nearest one there is.
    """
    names = tuple(dict.fromkeys((*_FIRST.get(verb, ()), *known)))
    error = _unknown_among(given, names, verb if "." in verb else f"Memory.{verb}")
    try:
        if error is not None:
            raise error
    finally:
        del error  # an error that its own frame keeps would keep what the arguments are


def _unknown_among(
    given: Iterable[str], known: tuple[str, ...], where: str
) -> UnknownArgumentError | None:
    for name in given:
        if name not in known:
            return UnknownArgumentError(
                f"{where}() has no argument {name!r}", hint=hint_for_argument(name, known)
            )
    return None


def hint_for_argument(name: str, known: tuple[str, ...]) -> str:
    """ "did you mean k?", or what there is."""
    if "message" in known and name in _OF_A_MESSAGE:
        return f'write it in the message: {{"{_OF_A_MESSAGE[name]}": ..., "content": "..."}}'
    meant = _meant(name, _KEYWORDS, known)
    if meant:
        return f"did you mean {meant}?"
    return f"it takes: {', '.join(known)}" if known else "it takes none"


def no_attribute(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for an attribute that is not there, with the one that is meant.

    Args:
        owner: "Memory", "spector" for the package, or the class of a facet.
        known: public names that there are.
    """
    text = f"module {owner!r}" if owner == "spector" else f"{owner!r} object"
    text = f"{text} has no attribute {name!r}"
    if not name.startswith("_"):
        table = _TABLES.get(owner, _OF_FACETS)
        meant = _meant(name, table, known)
        text = f"{text}; did you mean {meant}?" if meant else text
    return AttributeError(text, name=name)


def _meant(name: str, table: Mapping[str, list[str]], known: Iterable[str]) -> str | None:
    """What a name means: by the table, or by how it is spelt."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(_bare(name), names, 1)
    return _named(name, table, names) or (near[0] if near else None)


def _named(name: str, table: Mapping[str, list[str]], names: Collection[str]) -> str | None:
    """What a name means by the table."""
    for candidate in [*table.get(name, []), *table.get(_bare(name), [])]:
        if not candidate.isidentifier() or candidate in names:
            return candidate
    return None


def _bare(name: str) -> str:
    return name.lower().strip("_").replace("-", "_")


def with_hints(made: _Class) -> _Class:
    """A class whose public methods say which argument is meant in place of an unknown one."""
    for name, member in inspect.getmembers(made):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(made, name, checks_arguments(f"{made.__name__}.{name}")(member))
    return made


def with_keywords(fields: type) -> Callable[[_Call], _Call]:
    """A function with the keys of a ``TypedDict`` in its signature, in place of ``**``."""

    def decorate(function: _Call) -> _Call:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        keys = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=getattr(of, "__forward_arg__", of),
            )
            for name, of in fields.__annotations__.items()
        ]
        function.__dict__["__signature__"] = signature.replace(parameters=[*own, *keys])
        return function

    return decorate


def made_by(how: str) -> Callable[[_Call], _Call]:
    """An ``__init__`` that tells who calls the class itself how its objects are made.

    Args:
        how: "spector.open(path)".
    """

    def decorate(init: _Call) -> _Call:
        @wraps(init)
        def called(self: Any, *args: Any, **given: Any) -> None:
            try:
                inspect.signature(init).bind(self, *args, **given)
            except TypeError:
                raise UnknownArgumentError(
                    f"{type(self).__name__} is not made by calling it", hint=f"use {how}"
                ) from None
            init(self, *args, **given)

        return called  # type: ignore[return-value]

    return decorate


def checks_arguments(where: str) -> Callable[[_Call], _Call]:
    """A function whose unknown keywords are typed errors with a hint; calls that fit cost nothing.

    Args:
        where: how errors name the function, like "spector.open".
    """

    def decorate(function: _Call) -> _Call:
        @wraps(function)
        def called(*args: Any, **given: Any) -> Any:
            try:
                return function(*args, **given)
            except TypeError as error:
                unfit = None
                if not isinstance(error, InvalidInputError):
                    unfit = _unfit(function, args, given, where)
                if unfit is None:
                    raise
            try:
                raise unfit
            finally:
                del unfit  # an error that its own frame keeps would keep what the arguments are

        return called  # type: ignore[return-value]

    return decorate


def _unfit(
    function: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any], where: str
) -> UnknownArgumentError | None:
    """Why a call could not be made; None when it was made, and failed."""
    parameters = list(inspect.signature(function).parameters.values())
    if any(each.kind is each.VAR_KEYWORD for each in parameters):  # it refuses them by itself
        absent = tuple(
            each.name
            for n, each in enumerate(parameters)
            if each.default is each.empty
            and each.kind is each.POSITIONAL_OR_KEYWORD
            and n >= len(args)
            and each.name not in given
        )
        names = {each.name for each in parameters}
        meant = [name for name in given if name not in names and _named(name, _KEYWORDS, absent)]
        return _unknown_among(meant, absent, where) or _misplaced(parameters, args, given, where)
    known = tuple(
        each.name
        for each in parameters
        if each.kind is not each.POSITIONAL_ONLY and each.name != "self"
    )
    return _unknown_among(given, known, where) or _misplaced(parameters, args, given, where)


def _misplaced(
    parameters: Sequence[inspect.Parameter],
    args: Sequence[Any],
    given: Mapping[str, Any],
    where: str,
) -> UnknownArgumentError | None:
    """The error for a call with too many arguments without a name, or with too few."""
    kinds = {each.kind for each in parameters}
    placed = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(args) > len(placed) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        own = [each.name for each in placed if each.name != "self"]
        named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
        return UnknownArgumentError(
            f"{where}() takes {', '.join(own) or 'nothing'} without a name, and got"
            f" {counted(len(args) - len(placed) + len(own), 'value')}",
            hint="write the others with their names: "
            + ", ".join(f"{name}=..." for name in named[:6])
            if named
            else "leave the others out",
        )
    absent = [
        each.name
        for n, each in enumerate(parameters)
        if each.default is each.empty
        and each.name not in given
        and (each.kind is each.KEYWORD_ONLY or (each in placed and n >= len(args)))
    ]
    if not absent:
        return None
    needed = [each.name for each in placed if each.default is each.empty and each.name != "self"]
    needed += [f"{name}=..." for name in absent if name not in needed]
    return UnknownArgumentError(
        f"{where}() lacks {' and '.join(absent)}",
        hint=f"write it like {where}({', '.join(needed)})",
    )
