"""The document: edited, opened, saved, checked and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.studio.document.exports import export_document, export_file, is_file
from dali_lab.studio.document.folders import listing
from dali_lab.studio.document.graph_document import DocumentError, empty_document
from dali_lab.studio.requests.request import Request

if TYPE_CHECKING:
    from dali_lab.studio.session import Session

Json = dict[str, Any]


def edit(session: Session, request: Request) -> Json:
    """Apply changes, and tell the other editors."""
    return {"revision": session.edit(request.params.get("changes"), request.editor.name, request.port)}


def open_document(session: Session, request: Request) -> Json:
    """Open a file, a text, or a graph by its name."""
    params, store = request.params, session.store
    with session.lock:
        pipeline = params.get("pipeline")
        warnings: list[str] = []
        if params.get("path") is not None:
            warnings = store.open_path(params["path"], pipeline)
        elif params.get("text") is not None:
            warnings = store.open_text(str(params["text"]), str(params.get("name") or ""), pipeline)
        else:
            _open_named(session, params)
        return session.opened(request.port, warnings)


def _open_named(session: Session, params: Json) -> None:
    for kind, table in (("sample", session.samples), ("gallery", session.gallery_samples)):
        name = params.get(kind)
        if name is None:
            continue
        sample = table.get(str(name))
        if sample is not None:
            session.store.replace(sample.make(), title=sample.title)
        elif kind == "gallery":
            entry = session.gallery_page.entry(str(name))
            session.store.replace(json_file.to_document(with_groups(entry.over())), title=entry.title)
        else:
            raise DocumentError(f"There is no {kind} '{name}'.", "not_found")
        return
    raise DocumentError("Say what to open: a path, a text, or a sample.")


def new(session: Session, request: Request) -> Json:
    """Begin with an empty document."""
    with session.lock:
        session.store.replace(empty_document())
        return session.opened(request.port)


def save(session: Session, request: Request) -> Json:
    """Write the document to its file, or to another one."""
    store = session.store
    with session.lock:
        store.save(request.params.get("path"), request.params.get("overwrite") is True)
        saved = {"file": store.file_entry(), "title": store.title, "dirty": False}
    session.broadcast("state", {**saved, "read_only": False}, besides=request.port)
    return saved


def list_files(session: Session, request: Request) -> Json:
    """What is in a folder."""
    path, store = request.params.get("path"), session.store
    place = store.root if path is None else store.resolve(path)
    return listing(place, tuple(request.params.get("kinds") or ("any",)))


def validate(session: Session, request: Request) -> Json:
    """What is wrong with the document."""
    return session.problems()


def export(session: Session, request: Request) -> Json | None:
    """The document in another form."""
    with session.lock:
        document, title = session.store.document, session.store.title
    to = str(request.params.get("to"))
    if not is_file(to):
        return export_document(document, to, title)
    result, content = export_file(document, to, title)
    request.answer(result, [content])
    return None
