"""Partitions written anew: compaction, migration."""
