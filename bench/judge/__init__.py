"""Pairs and messages by hands for the judge: whether they are balanced, training, figures."""
