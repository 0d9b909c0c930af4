"""Fragments of the changelog, and the command that joins them at a release."""
