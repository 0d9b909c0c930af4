"""Benchmarks: ``python -m bench`` measures, writes JSON, and makes the tables from it."""
