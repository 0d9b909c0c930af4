"""``python -m spector.mcp`` is ``spector mcp``."""

from spector.adapters.mcp import main

raise SystemExit(main())
