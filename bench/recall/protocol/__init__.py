"""The protocol that judges changes of recall: rotating folds, ways of writing, spreads."""
