"""What a name that the command does not have was meant to be: a verb, or an option of one.

People come from other stores, whose verbs are add, search and delete, and they mistype. Both are
told the name that is there; nothing is ever run in its place.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Final

__all__ = ["meant_option", "meant_verb"]

#: names of other stores and tools -> what to write here
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
        "users": "user who scopes namespaces owners tenants list-users",
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
}  # fmt: skip
#: the same of options; what is taken of several is the first that the verb has
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
#: of how much of a name has to be there; "dream" is no "demo"
_LIKENESS: Final = 0.7
_LEAST_CHARS: Final = 3


def meant_verb(name: str, verbs: Collection[str]) -> str:
    """The verb that a name stands for; "" when none comes to mind."""
    plain = _plain(name)
    if plain in _VERBS and plain not in verbs:
        return _VERBS[plain]
    return _near(plain, verbs)


def meant_option(name: str, options: Collection[str]) -> str:
    """The option, of those that a verb has, that another stands for; "" when none does."""
    plain = _plain(name)
    for option in _OPTIONS.get(plain, ()):
        if option in options:
            return option
    bare = {option.lstrip("-"): option for option in options}
    return bare.get(_near(plain, bare), "")


def _near(plain: str, names: Collection[str]) -> str:
    if plain in names:
        return plain
    if len(plain) >= _LEAST_CHARS:
        longer = [name for name in names if name.startswith(plain)]
        if len(longer) == 1:
            return longer[0]
    return next(iter(difflib.get_close_matches(plain, list(names), 1, _LIKENESS)), "")


def _plain(name: str) -> str:
    return name.strip().lower().lstrip("-").split("=")[0].replace("_", "-")[:64]
