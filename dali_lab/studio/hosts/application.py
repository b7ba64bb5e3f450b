"""The app's first document: a graph file, a folder of pictures, unsaved work, or the sample photographs."""

from __future__ import annotations

from pathlib import Path

from dali_lab.gallery.samples import photographs
from dali_lab.model.errors import DaliLabError
from dali_lab.studio.document.graph_files import title_of
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.document.starts import first_pipeline
from dali_lab.studio.document.store import Sample
from dali_lab.studio.protocol.connections import Notice
from dali_lab.studio.session import Session


def start_session(graph: str | None = None, data: str | None = None, recovery: Recovery | None = None) -> Session:
    """A session for the app.

    Parameters
    ----------
    graph
        A graph file to open, or a program.
    data
        A folder of pictures, with labels from its sub-folders.
    recovery
        Where unsaved work is kept; by default in the user's cache folder.

    Raises
    ------
    DaliLabError
        If the file or the folder does not exist or is of another kind.
    """
    kept = recovery or Recovery()
    folder = data_folder(data) if data is not None else None
    session = Session(samples=sample_starts(folder), recovery=kept, root=Path.cwd())
    try:
        _open_first(session, kept, graph, folder)
    except BaseException:
        session.close()
        raise
    return session


def sample_starts(folder: Path | None) -> list[Sample]:
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
        title = folder.name or str(folder)
        samples.insert(0, Sample("folder", title, f"The same steps over {folder}.", lambda: first_pipeline(folder)))
    return samples


def _open_first(session: Session, recovery: Recovery, graph: str | None, folder: Path | None) -> None:
    store = session.store
    if graph is not None:
        store.open_path(graph)
        return
    if folder is not None:
        store.replace(first_pipeline(folder), title=folder.name or str(folder))
        return
    found = recovery.take()
    if found is not None:
        document, file, title = found
        store.replace(document, title=title or (title_of(file.name) if file else ""), file=file, dirty=True)
        session.notices.append(Notice("info", "Here is what was not saved the last time."))
        return
    store.replace(first_pipeline(photographs()), title="Photographs")


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
        raise DaliLabError(f"{path} is no folder")
    return path
