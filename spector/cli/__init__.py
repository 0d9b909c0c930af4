"""The command line: parse, run one verb of the public face, turn its outcome into an exit code."""
