"""What the parts of cognition find in public and own sets, against their goals."""
