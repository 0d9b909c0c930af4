"""What every backend takes and returns: plain data, and nothing that computes a scan."""
