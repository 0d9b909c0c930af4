"""Scoring and scanning of records: the six phases, three backends, one contract.

Import names from their modules; nothing here loads a backend until a scan or checksum needs it.
"""
