"""``python -m spector.mcp`` is ``spector mcp``."""

import sys

from spector.cli.main import command

sys.argv.insert(1, "mcp")
command()
