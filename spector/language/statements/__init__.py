"""What a text is: its form, its speaker, the instructions in it."""
