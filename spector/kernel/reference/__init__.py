"""The backend in plain NumPy: the definition that the others are tested against."""
