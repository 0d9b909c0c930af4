"""Rules for texts: form, speaker, instructions, excerpts, newer versions of a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.language.statements.aspects import aspects_of
    from spector.language.statements.excerpts import cue_words, excerpt
    from spector.language.statements.form import (
        INSTRUCTS,
        MARK_VERSION,
        Forms,
        forms_of,
        mark_of,
        may_be_instruction,
    )
    from spector.language.statements.grammar import (
        ASKS_TR,
        NOW,
        NOW_TR,
        Question,
        Statement,
        may_be_of_change,
    )
    from spector.language.statements.instructions import find_instruction, is_prohibition
    from spector.language.statements.markers import (
        ASSISTANTS,
        FIRST_PERSON,
        USERS,
        Speakers,
        ends_with_question,
        is_of_time,
        subject_of,
    )
    from spector.language.statements.names import names_of
    from spector.language.statements.quoting import (
        Quotation,
        own_words,
        quotations,
        shorten_quotations,
    )
    from spector.language.statements.roles import (
        BARE_ROLES,
        is_invisible,
        may_instruct,
        person_of,
        reads_like_a_role,
        speaker_opening,
    )
    from spector.language.statements.speakers import (
        UNSEEN,
        Opening,
        folded_name,
        is_question,
        opening_of,
        says_i,
        searched_words,
        speaker_in,
        without_dates,
        words_of,
    )
    from spector.language.statements.text import MemoryText
    from spector.language.statements.versions import ChangeKind, StatementPair


__getattr__ = on_first_use(__name__)
