"""Rules for texts: form, speaker, instructions, excerpts, newer versions of a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.language.statements.form import (
        INSTRUCTS,
        MARK_VERSION,
        Forms,
        MemoryText,
        aspects_of,
        forms_of,
        mark_of,
        may_be_instruction,
        names_of,
    )
    from spector.language.statements.instructions import find_instruction, is_prohibition
    from spector.language.statements.quoting import (
        Quotation,
        cue_words,
        excerpt,
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
        ASSISTANTS,
        FIRST_PERSON,
        UNSEEN,
        USERS,
        Opening,
        Speakers,
        ends_with_question,
        folded_name,
        is_of_time,
        is_question,
        opening_of,
        says_i,
        searched_words,
        speaker_in,
        subject_of,
        without_dates,
        words_of,
    )
    from spector.language.statements.versions import (
        ASKS_TR,
        NOW,
        NOW_TR,
        asks_for_many,
        is_negated,
        is_of_now,
        value_replaced,
    )


__getattr__ = on_first_use(__name__)
