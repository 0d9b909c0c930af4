"""``python -m spector`` is the ``spector`` command."""

from spector.cli.main import command

command()
