"""Backups, restores and plain copies of stores; old and newer formats."""
