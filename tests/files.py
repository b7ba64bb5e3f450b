"""Files that readers are tested with: each is one byte, its number; and which files a process holds open."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def numbered_files(folder: Path, count: int, *, classes: int = 0, ending: str = ".bin") -> list[str]:
    """Write files that hold their numbers.

    Parameters
    ----------
    folder
        Where they go.
    count
        Their number.
    classes
        Folders of classes that they go into in turn; none by default.
    ending
        Of their names.

    Returns
    -------
    list of str
        Their paths, by number.
    """
    paths = []
    for index in range(count):
        place = folder / f"class{index % classes}" if classes else folder
        place.mkdir(exist_ok=True)
        path = place / f"{index:02}{ending}"
        path.write_bytes(bytes([index]))
        paths.append(str(path))
    return paths


def held_files(folder: Path) -> list[str]:
    """Paths below a folder that this process has open or mapped, each as often as it has; none without ``/proc``."""
    proc, found = Path("/proc/self"), []
    if not proc.is_dir():
        return found
    for descriptor in (proc / "fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            found.append(os.readlink(descriptor))
    found += [line.split(maxsplit=5)[-1] for line in (proc / "maps").read_text().splitlines()]
    return sorted(path for path in found if path.startswith(f"{folder}/"))
