"""What a cue asks: its kind, its parts, its topic."""
