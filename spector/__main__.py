"""``python -m spector`` is the ``spector`` command."""

import sys

from spector.cli.main import main

sys.exit(main())
