"""Expressions of time, as ranges."""
