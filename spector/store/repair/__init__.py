"""What is left of a damaged store, brought into a new one."""
