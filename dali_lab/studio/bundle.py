"""The editor's JavaScript bundle, served by every host."""

from __future__ import annotations

import functools
from pathlib import Path

from dali_lab.model.errors import DaliLabError

BUNDLE = Path(__file__).with_name("static") / "editor.js"


def require_bundle() -> None:
    """Raise if the editor was not built.

    Raises
    ------
    DaliLabError
        If it was not.
    """
    if not BUNDLE.is_file():
        raise DaliLabError(
            f"the editor is not built: there is no {BUNDLE}; install with pip, or run 'jlpm build' in extension/"
        )


def script() -> str:
    """The bundle's text."""
    return _text(BUNDLE)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
