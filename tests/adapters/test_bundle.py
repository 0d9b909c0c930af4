"""The bundle for Claude Desktop has what its manifest names, and starts this server.

Mechanism: a zip file with a manifest that a client reads. Damage without it: a client installs a
bundle whose server does not start. Others' schema is asked in `make test-adapters`.
"""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from pathlib import Path

import spector
from docs.make_bundle import write

WHEEL = "spector_memory-1-cp311-abi3-linux_x86_64.whl"


def test_a_bundle_has_what_its_manifest_names(tmp_path: Path) -> None:
    wheel, bundle = tmp_path / WHEEL, tmp_path / "spector.mcpb"
    wheel.write_bytes(b"a wheel")
    write(wheel, bundle)
    again = tmp_path / "again.mcpb"
    write(wheel, again)
    assert bundle.read_bytes() == again.read_bytes()
    with zipfile.ZipFile(bundle) as file:
        assert file.testzip() is None
        names = file.namelist()
        told = json.loads(file.read("manifest.json"))
        project = tomllib.loads(file.read("pyproject.toml").decode())
        compile(file.read(told["server"]["entry_point"]), "server.py", "exec")
        assert file.read(WHEEL) == b"a wheel"
    assert told["version"] == spector.__version__
    assert {told["server"]["entry_point"], "manifest.json", WHEEL} <= {*names}
    assert told["server"]["mcp_config"]["args"][-1] == told["server"]["entry_point"]
    assert project["project"]["dependencies"] == ["spector-memory[mcp]"]
    assert project["tool"]["uv"]["sources"]["spector-memory"]["path"] == WHEEL
    used = re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(told["server"]))
    assert {*used} == {*told["user_config"]}
    assert told["compatibility"]["platforms"] == ["linux"]
