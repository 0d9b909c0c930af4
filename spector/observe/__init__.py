"""Decides what becomes of a message: which memories it makes, changes or strengthens."""
