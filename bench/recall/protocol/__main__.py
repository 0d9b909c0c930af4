"""The protocol alone, without the arms and pages of ``python -m bench.recall``."""

from __future__ import annotations

import sys

from bench.recall.protocol.command import main

if __name__ == "__main__":
    sys.exit(main())
