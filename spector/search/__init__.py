"""Finding memories: what is ranked, by which evidence, in which order."""
