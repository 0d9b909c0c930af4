"""The backend that Numba compiles."""
