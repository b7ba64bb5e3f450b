"""Files that readers are tested with: each is one byte, its number."""

from __future__ import annotations

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
