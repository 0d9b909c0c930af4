"""The store: state, transactions, records."""
