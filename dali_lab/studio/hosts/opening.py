"""Opens the app's page in the person's browser."""

from __future__ import annotations

import contextlib
import html
import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from dali_lab.model.cache_folder import cache_folder


@contextlib.contextmanager
def opened_in_browser(address: str | None) -> Iterator[None]:
    """Open an address, without waiting for it, by a file that nobody else can read; the file goes in the end.

    The list of processes, which everybody can read, has the browser's arguments: the file's name, not the token.
    """
    if address is None:
        yield
        return
    target = html.escape(address, quote=True)
    folder = cache_folder() / "opening"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(".html", "dali-lab-", folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta charset="utf-8"><title>DALI Lab</title>'
            f'<meta http-equiv="refresh" content="0;url={target}"><a href="{target}">Open DALI Lab</a>'
        )
    threading.Thread(target=webbrowser.open, args=(Path(name).as_uri(),), daemon=True).start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
