"""Suggestions for unknown verbs and options.

Users know the verbs of other stores, such as add, search and delete, and they mistype. The error
suggests the existing name; no command is ever run in place of the typed one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Final

#: verbs of other stores and tools -> verb to suggest
_VERBS: Final[Mapping[str, str]] = {
    name: verb
    for verb, names in {
        "recall": "search query find retrieve lookup ask similar match grep semantic-search",
        "remember": "add insert store save put write create append upsert learn note memorize set",
        "forget": "delete remove rm del erase purge drop clear reset wipe destroy delete-all"
        " delete-memory delete-user remove-user",
        "list": "ls all show-all get-all list-memories memories records recent browse dir scan",
        "get": "show view read cat fetch get-memory peek open describe",
        "update": "edit change modify patch correct replace move alter",
        "count": "len length size total",
        "users": "user who scopes owners tenants list-users",
        "namespaces": "namespace folders list-namespaces",
        "judge": "compare contradicts conflict verdict",
        "pin": "protect keep star favorite",
        "unpin": "unprotect unkeep unstar release",
        "resolve": "close done finish",
        "reinforce": "reward feedback strengthen upvote rate boost",
        "history": "log versions changes timeline diff",
        "reinstate": "undo revert restore-memory unsupersede",
        "import": "load ingest index add-file import-file upload",
        "export": "dump save-as download backup-json",
        "context": "prompt inject augment",
        "reflect": "sleep consolidate maintain",
        "compact": "vacuum gc optimize optimise cleanup clean defrag shrink",
        "check": "verify validate doctor fsck test",
        "check PATH --repair DEST": "repair fix salvage recover mend",
        "backup": "copy snapshot clone cp",
        "restore": "unbackup",
        "stats": "info status stat about summary usage",
        "inspect": "debug raw hexdump header",
        "reembed": "embed re-embed reindex migrate-model",
        "demo": "example tour",
        "bench": "benchmark perf",
        "--version": "version",
        "--help": "help",
    }.items()
    for name in names.split()
}
#: options of other tools -> options to suggest; the first that the verb has is taken
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(options.split())
    for options, names in {
        "-k --limit": "top-k topk n num number count n-results num-results max-results limit k",
        "--user": "user-id userid uid owner namespace tenant",
        "--agent": "agent-id agentid",
        "--session": "session-id sessionid run-id thread thread-id conversation chat-id",
        "--tag": "tags label labels category categories with-tag",
        "--any-tag": "any-tags tags-any or-tag",
        "--tier": "tiers type kind memory-type collection",
        "--where": "filter filters meta query where-metadata metadata",
        "--metadata": "meta data payload",
        "--since": "from after start newer-than start-time created-after",
        "--until --before": "to end end-time until before older-than",
        "--stored-before --before": "created-before recorded-before added-before",
        "--event-time": "time date at when timestamp created-at",
        "--yes --force": "y force confirm no-confirm noconfirm non-interactive assume-yes f",
        "--force": "overwrite",
        "--dry-run": "dryrun preview simulate whatif what-if",
        "--max-tokens": "tokens budget max-len",
        "--embedder": "model embedding embedding-model embedder-name",
        "--purge": "hard erase permanent permanently",
        "--include-protected": "include-pinned include-immutable all force-protected",
        "--json": "output format o as-json",
        "--as-of": "asof at-time",
    }.items()
    for name in names.split()
}
#: minimum similarity of two names: "dream" does not suggest "demo"
_MIN_RATIO: Final = 0.7
_LEAST_CHARS: Final = 3


def suggest_verb(name: str, verbs: Collection[str]) -> str:
    """The verb to suggest for an unknown one; "" if there is none."""
    plain = _normalized(name)
    if plain in _VERBS and plain not in verbs:
        return _VERBS[plain]
    return _closest(plain, verbs)


def suggest_option(name: str, options: Collection[str]) -> str:
    """The option of a verb to suggest for an unknown one; "" if there is none."""
    plain = _normalized(name)
    for option in _OPTIONS.get(plain, ()):
        if option in options:
            return option
    bare = {option.lstrip("-"): option for option in options}
    return bare.get(_closest(plain, bare), "")


def _closest(plain: str, names: Collection[str]) -> str:
    if plain in names:
        return plain
    if len(plain) >= _LEAST_CHARS:
        longer = [name for name in names if name.startswith(plain)]
        if len(longer) == 1:
            return longer[0]
    return next(iter(difflib.get_close_matches(plain, list(names), 1, _MIN_RATIO)), "")


def _normalized(name: str) -> str:
    return name.strip().lower().lstrip("-").split("=")[0].replace("_", "-")[:64]
