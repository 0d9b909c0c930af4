"""SQLite itself: connections, errors, journals."""
