"""spector beside other engines on the same vectors; ``python -m bench.rivals`` (see README.md)."""
