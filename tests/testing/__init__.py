"""The kit for those who add a tier or an embedder."""
