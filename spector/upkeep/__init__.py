"""Care of the files: compaction, order, erasure, counts."""
