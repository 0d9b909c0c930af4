"""What a text is: its form, its speaker, the instructions in it, what it replaces."""

from __future__ import annotations

from spector.language.statements.excerpts import (
    cue_words,
    excerpt,
)
from spector.language.statements.form import (
    INSTRUCTS,
    MARK_VERSION,
    Forms,
    forms_of,
    mark_of,
    may_stand,
)
from spector.language.statements.grammar import (
    ASKS_TR,
    NOW,
    NOW_TR,
    Question,
    Statement,
    may_be_of_change,
)
from spector.language.statements.instructions import (
    forbids,
    instruction,
)
from spector.language.statements.markers import (
    ASSISTANTS,
    FIRST_PERSON,
    USERS,
    Speakers,
    about,
    asks,
    is_of_time,
)
from spector.language.statements.names import (
    names_of,
)
from spector.language.statements.roles import (
    BARE_ROLES,
    is_invisible,
    may_instruct,
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
    speaker_in,
    words_of,
)
from spector.language.statements.text import (
    Text,
)
from spector.language.statements.versions import (
    Form,
    Pair,
)

__all__ = [
    "ASKS_TR",
    "ASSISTANTS",
    "BARE_ROLES",
    "FIRST_PERSON",
    "INSTRUCTS",
    "MARK_VERSION",
    "NOW",
    "NOW_TR",
    "UNSEEN",
    "USERS",
    "Form",
    "Forms",
    "Opening",
    "Pair",
    "Question",
    "Speakers",
    "Statement",
    "Text",
    "about",
    "asks",
    "cue_words",
    "excerpt",
    "folded_name",
    "forbids",
    "forms_of",
    "instruction",
    "is_invisible",
    "is_of_time",
    "is_question",
    "mark_of",
    "may_be_of_change",
    "may_instruct",
    "may_stand",
    "names_of",
    "opening_of",
    "reads_like_a_role",
    "says_i",
    "speaker_in",
    "speaker_opening",
    "words_of",
]
