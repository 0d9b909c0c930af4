"""People that texts name, and who of them a pronoun means."""

from __future__ import annotations

from spector.language.formation.persons.features import (
    FEATURES,
    Cluster,
    Turn,
    clusters,
    features,
    is_called,
    is_possessive,
    mentioned,
    name_parts,
    same_name,
)
from spector.language.formation.persons.people import Person, gender_of, people_in
from spector.language.formation.persons.scoring import likelihoods, settled
from spector.language.formation.persons.weights import BIAS, WEIGHTS
