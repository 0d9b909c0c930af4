"""Kills, faults and races; every scenario runs in a fresh process that may fork and die."""
