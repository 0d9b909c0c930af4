"""Checks what callers pass: every argument is parsed once, and one fault has one message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.arguments.memories import (
        check_metadata,
        check_text,
        id_of,
        ids_in,
        parse_aliases,
        parse_attachment,
        parse_parents,
        parse_superseded,
        parse_tags,
        parse_vector,
    )
    from spector.arguments.recalls import (
        SORTS,
        parse_as_of,
        parse_include,
        parse_label,
        parse_range,
        parse_sorts,
    )
    from spector.arguments.speakers import as_user, parse_speaker
    from spector.arguments.stores import (
        OpenArguments,
        parse_access,
        parse_choice,
        parse_clock,
        parse_config,
        parse_cycle,
        parse_dim,
        parse_directory,
        parse_limit,
        parse_ops_log,
        parse_path,
        parse_place,
        parse_seconds,
        parse_steps,
        parse_threads,
        parse_wait,
        without_tilde,
    )
    from spector.arguments.values import (
        SCOPES,
        check_scope,
        parse_callback,
        parse_duration_ms,
        parse_enum,
        parse_integer,
        parse_key,
        parse_move,
        parse_namespace,
        parse_number,
        parse_prefix,
        parse_switch,
        parse_truth,
        refuse_scopes,
        refuse_scopes_in,
        several,
        without_owners,
    )


__getattr__ = on_first_use(__name__)
