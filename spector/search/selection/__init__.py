"""Choosing among ranked memories."""
