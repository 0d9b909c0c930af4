"""The index of words and its files."""
