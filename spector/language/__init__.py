"""Rules of language for texts and cues, in English and Turkish, without a model."""
