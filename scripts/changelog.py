"""Gather the fragments of changelog.d under a new version in CHANGELOG.md: `python scripts/changelog.py VERSION [DATE]`."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = ("added", "changed", "deprecated", "removed", "fixed", "security")


def gather(root: Path, version: str, date: str) -> None:
    """Write the section and remove the fragments; no fragments is an error, since then nothing is to be released."""
    fragments = {section: sorted((root / "changelog.d").glob(f"*.{section}.md")) for section in SECTIONS}
    if not any(fragments.values()):
        sys.exit("changelog.d has no fragments")
    lines = [f"## {version} ({date})", ""]
    for section, paths in fragments.items():
        if paths:
            lines += [f"### {section.capitalize()}", ""]
            lines += ["- " + path.read_text().strip().replace("\n", "\n  ") for path in paths]
            lines.append("")
    changelog = root / "CHANGELOG.md"
    head, mark, older = changelog.read_text().partition("\n## ")
    changelog.write_text("\n".join([head.rstrip(), "", *lines]) + mark + older)
    for paths in fragments.values():
        for path in paths:
            path.unlink()


if __name__ == "__main__":
    gather(ROOT, sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else datetime.date.today().isoformat())
