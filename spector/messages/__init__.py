"""What error texts are made of: any value in words, the name that was meant, plurals."""

from __future__ import annotations

from spector.messages.counting import counted
from spector.messages.extras import DISTRIBUTION, install_command
from spector.messages.suggestions import (
    checks_arguments,
    hint_for_argument,
    made_by,
    no_attribute,
    refuse_unknown,
    with_hints,
    with_keywords,
)
from spector.messages.values import (
    items_of,
    reading,
    said,
    shown,
)

__all__ = [
    "DISTRIBUTION",
    "checks_arguments",
    "counted",
    "hint_for_argument",
    "install_command",
    "items_of",
    "made_by",
    "no_attribute",
    "reading",
    "refuse_unknown",
    "said",
    "shown",
    "with_hints",
    "with_keywords",
]
