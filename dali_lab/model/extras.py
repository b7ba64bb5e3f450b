"""Packages that extras bring: the error that names the extra where one is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from dali_lab.model.errors import DaliLabError

STUDIO = ("tornado", "anywidget", "ipywidgets", "cv2")


def installed(package: str) -> bool:
    """Whether a package can be imported; it is not."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # another thread is importing it
        return True
    if spec is None:
        return False
    # A folder of that name beside the program is no package.
    return spec.has_location or spec.submodule_search_locations is None


def require(extra: str, packages: tuple[str, ...], purpose: str) -> None:
    """Refuse to go on where a package of an extra is not installed; nothing is imported.

    Raises
    ------
    DaliLabError
        With the command that installs the extra.
    """
    missing = [package for package in packages if not installed(package)]
    if missing:
        raise DaliLabError(
            f"{purpose} takes {missing[0]}, which is not installed: pip install 'dali-lab[{extra}]'",
            code="not_installed",
        )


@contextmanager
def importing(package: str, install: str) -> Iterator[None]:
    """Say how to install a package where importing it fails; the error stays one that programs expect of an import."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(f"{error.msg}: pip install {install}", name=package) from None
