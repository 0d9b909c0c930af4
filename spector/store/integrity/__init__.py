"""Whether a store is whole."""
