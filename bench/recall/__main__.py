"""``python -m bench.recall``: the protocol that judges recall; see its command."""

from __future__ import annotations

from bench.recall.protocol.command import main

if __name__ == "__main__":
    raise SystemExit(main())
