"""The backend in C, called without the GIL."""
