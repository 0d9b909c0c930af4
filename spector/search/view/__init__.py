"""What one search looks at: a snapshot, its records, its filters."""
