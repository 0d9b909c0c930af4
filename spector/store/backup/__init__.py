"""Copies of stores, made at once or not at all."""
