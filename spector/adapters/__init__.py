"""What carries a memory into other programs; each folder is for one protocol or framework."""
