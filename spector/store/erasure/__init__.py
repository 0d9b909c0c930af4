"""Making forgotten words unreadable, and the search that shows it."""
