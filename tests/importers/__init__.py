"""Files of other programs, read right or refused."""
