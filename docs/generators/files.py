"""Writes pages, and leaves alone those that are as they should be."""

import shutil
from pathlib import Path


def write_page(path: Path, text: str) -> None:
    """Write `text`, unless the file has it."""
    if path.is_file() and path.read_text("utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, unless its copy is as new."""
    if target.is_file() and target.stat().st_mtime >= source.stat().st_mtime:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def remove_others(folder: Path, kept: set[str]) -> None:
    """Remove files of a generated folder that no page stands for any more."""
    for path in folder.glob("*"):
        if path.is_file() and path.name not in kept:
            path.unlink()
