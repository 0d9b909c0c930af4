"""What to do with a cue, and with the hits: needed or not, how, how much of them."""
