"""The app's first document: a graph file, a folder of pictures, unsaved work, or the sample photographs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dali_lab.gallery.samples import photographs
from dali_lab.io.files import list_folder
from dali_lab.io.locations import canonical, is_remote
from dali_lab.io.roots import Roots, server_of
from dali_lab.model.errors import DaliLabError
from dali_lab.studio.document.graph_files import title_of
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.studio.document.store import Sample
from dali_lab.studio.permissions import Permissions, usual_roots
from dali_lab.studio.protocol.connections import Notice
from dali_lab.studio.session import Session


def start_session(
    graph: str | None = None,
    data: str | None = None,
    recovery: Recovery | None = None,
    roots: Sequence[str] = (),
) -> Session:
    """A session for the app.

    Parameters
    ----------
    graph
        A graph file to open, or a program.
    data
        A folder of pictures, with labels from its sub-folders; it may be a URL.
    recovery
        Where unsaved work is kept; by default in the user's cache folder.
    roots
        Folders that the session reads and writes, besides that of the graph file and `data`; by default the working
        folder and the person's home.

    Raises
    ------
    DaliLabError
        If the file or the folder does not exist or is of another kind.
    """
    kept = recovery or Recovery()
    folder = data_place(data) if data is not None else None
    allowed = [data_folder(root) for root in roots]
    here = Path.cwd()
    found = Roots(allowed) if allowed else usual_roots(here)
    if isinstance(folder, Path):
        found.allow(folder)
    elif folder is not None:
        found.allow_server(str(server_of(folder)))
    session = Session(
        samples=sample_starts(folder),
        recovery=kept,
        root=here if found.reads(here) else Path(found.folders[0]),
        permissions=Permissions(found),
    )
    try:
        _open_first(session, kept, graph, folder)
    except BaseException:
        session.close()
        raise
    return session


def sample_starts(folder: Path | str | None) -> list[Sample]:
    """Graphs to begin with: over the user's folder, if there is one, and over the sample photographs."""
    samples = [
        Sample(
            "photographs",
            "Photographs",
            "Reader, decoder, resize, rotation, brightness and contrast, normalisation, over thirteen photographs.",
            lambda: first_pipeline(photographs()),
        )
    ]
    if folder is not None:
        title = _name(folder)
        words = f"The steps of the sample photographs over {folder}."
        samples.insert(0, Sample("folder", title, words, lambda: first_pipeline(folder)))
    return samples


def _open_first(session: Session, recovery: Recovery, graph: str | None, folder: Path | str | None) -> None:
    store = session.store
    if graph is not None:
        store.open_own(os.path.abspath(os.path.expanduser(graph)))
        unsaved = None if store.file is None else recovery.take(store.file)
        if unsaved is not None:
            store.replace(unsaved[0], title=store.title, file=store.file, dirty=True)
            session.notices.append(
                Notice("info", "Here is what was not saved the last time. Open the file again for what was saved.")
            )
        return
    if folder is not None:
        store.replace(first_pipeline(folder), title=_name(folder))
        return
    found = recovery.take()
    if found is not None:
        document, file, title = found
        store.replace(document, title=title or (title_of(file.name) if file else ""), file=file, dirty=True)
        session.notices.append(Notice("info", "Here is what was not saved the last time."))
        return
    store.replace(first_pipeline(photographs()), title="Photographs")


def _name(folder: Path | str) -> str:
    """The last part of a path or URL."""
    return str(folder).rstrip("/").replace(os.sep, "/").rpartition("/")[2] or str(folder)


def data_place(text: str) -> Path | str:
    """The folder of pictures that a person gave: a path, or a URL.

    Raises
    ------
    DaliLabError
        If it does not exist or cannot be listed.
    """
    if not is_remote(text):
        return data_folder(canonical(text))
    try:
        list_folder(text)
    except OSError as error:
        raise DaliLabError(f"cannot list the folder '{text}': {error.strerror or error}") from error
    return canonical(text)


def data_folder(text: str) -> Path:
    """The folder at a path that a person gave.

    Raises
    ------
    DaliLabError
        If it does not exist or is no folder.
    """
    path = Path(text).expanduser().absolute()
    if not path.exists():
        raise DaliLabError(f"there is no folder {path}")
    if not path.is_dir():
        raise DaliLabError(f"{path} is not a folder")
    return path
