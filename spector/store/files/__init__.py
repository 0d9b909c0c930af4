"""Files, directories' entries, locks and maps."""
