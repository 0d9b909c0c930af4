"""Opening a store, to write or to read."""
