"""Writes the bundle that Claude Desktop and others install by a double click: ``make bundle``.

python -m docs.make_bundle WHEEL BUNDLE

A bundle is a zip file with a manifest. Ours is of the kind ``uv``: the client installs the wheel
inside and its dependencies, and starts the server from there.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

from spector import __version__

_SERVER: Final = """import runpy

runpy.run_module("spector.mcp", run_name="__main__")
"""
_PROJECT: Final = """[project]
name = "spector-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["spector-memory[mcp]"]

[tool.uv.sources]
spector-memory = {{ path = "{wheel}" }}
"""


def manifest(wheel: str) -> dict[str, Any]:
    """What a client reads of a bundle: format 0.4 of ``@anthropic-ai/mcpb``.

    Args:
        wheel: its name, whose last part is the platform that the bundle is for.
    """
    platform = "darwin" if "-macosx" in wheel else "linux"
    return {
        "manifest_version": "0.4",
        "name": "spector",
        "display_name": "Spector memory",
        "version": __version__,
        "description": "A memory on your disk: it remembers, recalls, corrects and forgets.",
        "author": {"name": "The spector authors"},
        "license": "Apache-2.0",
        "keywords": ["memory", "offline"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
                "env": {"SPECTOR_STORE": "${user_config.store}"},
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": [platform], "runtimes": {"python": ">=3.11"}},
        "user_config": {
            "store": {
                "type": "string",
                "title": "Store",
                "description": "Folder of the memory. Empty: spector/mind in your data folder.",
                "required": False,
                "default": "",
            }
        },
    }


def write(wheel: Path, bundle: Path) -> None:
    """Write the bundle of a wheel; equal wheels give equal bundles."""
    texts = {
        "manifest.json": json.dumps(manifest(wheel.name), indent=2) + "\n",
        "pyproject.toml": _PROJECT.format(version=__version__, wheel=wheel.name),
        "server.py": _SERVER,
    }
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in texts.items():
            file.writestr(zipfile.ZipInfo(name), text)
        file.writestr(zipfile.ZipInfo(wheel.name), wheel.read_bytes())


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"wrote {sys.argv[2]}")
