"""The demonstration: verbs shown on a sample conversation, each claim checked as it is printed."""

from __future__ import annotations

from spector.cli.demonstration.steps import Demonstration

__all__ = ["Demonstration"]
