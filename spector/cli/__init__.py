"""The command line: one verb of the public API per command, with documented exit codes."""
