"""The page of the reliability proofs: its rows, its prose, its rendering."""
