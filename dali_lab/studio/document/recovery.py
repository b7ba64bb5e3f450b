"""Unsaved work kept in a file of its own, so that a crash loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from dali_lab.formats.disk import write_text
from dali_lab.formats.secrets import refuse_secrets_in
from dali_lab.model.cache_folder import cache_folder
from dali_lab.model.errors import FormatError
from dali_lab.model.system import is_running, start_of
from dali_lab.studio.document.graph_document import checked, written
from dali_lab.studio.document.graph_files import SUFFIX
from dali_lab.studio.protocol.documents import Document


class Recovery:
    """Keeps unsaved work in a file of its own, so that a crash loses nothing.

    Parameters
    ----------
    folder
        Where such files are.
    beside
        The work is that of a second graph beside another one.
    """

    def __init__(self, folder: Path | None = None, *, beside: bool = False) -> None:
        self.folder = folder or cache_folder() / "recovery"
        self.beside = beside
        self.path = self.folder / f"{os.getpid()}-{time.time_ns() % 10**9:09d}{SUFFIX}"

    def keep(self, document: Document, file: Path | None, title: str) -> str | None:
        """Write unsaved work; a failure must not disturb editing, and its reason is the answer."""
        kept = {
            **document,
            "recovered": {
                "file": None if file is None else str(file),
                "title": title,
                "process": os.getpid(),
                "start": start_of(os.getpid()),
                "beside": self.beside,
            },
        }
        try:
            refuse_secrets_in(document)
        except FormatError:
            return None  # what is secret is kept nowhere
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.path, written(kept))
        except (OSError, FormatError) as error:
            reason = error.message if isinstance(error, FormatError) else f"cannot be written: {error.strerror}"
            return f"{self.folder} {reason}"
        return None

    def forget(self) -> None:
        """Remove the recovery file, as nothing is unsaved."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def take(self, file: Path | None = None) -> tuple[Document, Path | None, str] | None:
        """Take over the newest unsaved work of a process that has ended; `None` if there is none.

        A second graph comes back beside the other one, or in its place where that was saved.

        Parameters
        ----------
        file
            Only work on this file, that the file is not newer than.
        """
        found = sorted(self.folder.glob(f"*{SUFFIX}"), key=_written, reverse=True)
        own = self._take(found, file, beside=self.beside)
        return own or (None if self.beside else self._take(found, file, beside=True))

    def _take(
        self, found: list[Path], wanted: Path | None, *, beside: bool
    ) -> tuple[Document, Path | None, str] | None:
        for path in found:
            try:
                raw = json.loads(path.read_text("utf-8"))
                about = raw.pop("recovered")
                process, start = int(about["process"]), about.get("start")
                if bool(about.get("beside")) != beside:
                    continue
                document = checked(raw)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue
            if process != os.getpid() and is_running(process, start):
                continue
            if path == self.path:
                continue
            file = Path(about["file"]) if about.get("file") else None
            if wanted is not None and (file != wanted or _is_newer(wanted, path)):
                continue
            self.keep(document, file, str(about.get("title") or ""))
            with contextlib.suppress(OSError):
                path.unlink()
            return document, file, str(about.get("title") or "Recovered")
        return None


def _written(path: Path) -> float:
    """When a file was last written; 0 for one that another process has removed."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_newer(path: Path, than: Path) -> bool:
    return _written(path) > _written(than) > 0
