"""Tests of stores that several processes write in turn."""
