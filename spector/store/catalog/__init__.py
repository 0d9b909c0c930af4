"""The SQLite catalog: its tables and their queries."""
