"""The editor's JavaScript bundle, served by every host."""

from __future__ import annotations

import functools
import hashlib
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


def script() -> bytes:
    """The bundle's text, in UTF-8."""
    return _read(BUNDLE)[0]


def version() -> str:
    """A name for this text, which no other has."""
    return _read(BUNDLE)[1]


@functools.cache
def _read(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]
