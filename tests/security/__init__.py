"""Forgetting for good, permissions, hostile names and files."""
