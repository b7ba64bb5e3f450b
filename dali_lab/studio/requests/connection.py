"""An editor comes, comes back, and asks what there is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dali_lab.schema import catalogue as operators
from dali_lab.studio.document.exports import available
from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.document.store import UNTITLED
from dali_lab.studio.requests.request import Request

if TYPE_CHECKING:
    from dali_lab.studio.session import Session

Json = dict[str, Any]
PROTOCOL = 1


def hello(session: Session, request: Request) -> Json:
    """Greet an editor, which has no pictures yet."""
    editor = request.editor
    editor.delivered.clear()
    if not editor.name:
        editor.name = str(request.params.get("client") or "")
    session.look_for_problems()
    for notice in session.notices:
        request.tell("notice", notice)
    session.notices = []
    return _greeting(session)


def restore(session: Session, request: Request) -> Json:
    """Take the document of an editor whose session is gone."""
    document = checked(request.params.get("document"))
    file = request.params.get("file")
    store = session.store
    path = store.resolve(str(file["path"])) if isinstance(file, dict) and file.get("path") else None
    with session.lock:
        title = store.title if path is None else ""
        store.replace(
            document,
            title=title or (path.name if path else UNTITLED),
            file=path,
            dirty=request.params.get("dirty") is not False,
        )
        session.document_replaced(besides=request.port)
    return _greeting(session)


def catalogue(session: Session, request: Request) -> Json:
    """The operators."""
    return operators.catalogue()


def select(session: Session, request: Request) -> Json:
    """What is selected, for hosts that want to know."""
    if session.on_select is not None:
        session.on_select([str(name) for name in request.params.get("nodes") or ()])
    return {}


def ping(session: Session, request: Request) -> Json:
    """The session is there, and has these requests of the editor still to answer."""
    return {"waiting": sorted(request.editor.waiting - {str(request.id)})}


def _greeting(session: Session) -> Json:
    from dali_lab import __version__

    with session.lock:
        opened = session.store.opened()
        read_only = session.store.read_only
    return {
        "protocol": PROTOCOL,
        "session": session.id,
        "version": __version__,
        **opened,
        "read_only": read_only,
        "device": device_text(),
        "capabilities": {
            "preview": True, "run": True, "validate": True, "sweep": True, "compare": True,
            "open": True, "save": True, "list_files": True, "gallery_page": True,
            "select": session.on_select is not None,
            "samples": [sample.entry() for sample in session.samples.values()],
            "gallery": [sample.entry() for sample in session.gallery_samples.values()],
            "export": available(), "export_files": available(files=True),
        },
    }  # fmt: skip


def device_text() -> str:
    """Where previews are computed, for people."""
    cores = os.cpu_count() or 1
    return f"CPU, {cores} core{'' if cores == 1 else 's'}"
