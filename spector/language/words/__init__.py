"""Letters and words: folding, words of a text, stems, tokens."""
