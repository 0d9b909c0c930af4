"""``python -m spector.cli`` is the ``spector`` command."""

from spector.cli.main import command

command()
