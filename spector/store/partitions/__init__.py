"""Partitions, and the files of their scan indexes."""
