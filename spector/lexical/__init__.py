"""The lexical index: what texts have in common with the words of a cue."""
