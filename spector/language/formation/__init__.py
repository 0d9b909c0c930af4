"""A message in its statements, with notes in brackets on who and when is meant."""

from __future__ import annotations

from spector.language.formation.form import Formed, cut, form
from spector.language.formation.references import Referents, in_place_of
from spector.language.formation.rewriting import rewritten
