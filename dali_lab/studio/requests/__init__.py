"""What a session does for each request of ``extension/PROTOCOL.md``: a function for each method.

A handler gets the session and the request, on the session's thread; it gives the result, or `None` where the request
is answered by itself, with buffers or later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dali_lab.studio.document.graph_document import DocumentError
from dali_lab.studio.requests import connection, document, gallery, preview, program
from dali_lab.studio.requests.request import Request

if TYPE_CHECKING:
    from dali_lab.studio.session import Session

Handler = Callable[["Session", Request], dict[str, Any] | None]

_HANDLERS: dict[str, Handler] = {
    "hello": connection.hello, "restore": connection.restore, "catalogue": connection.catalogue,
    "select": connection.select, "ping": connection.ping,
    "edit": document.edit, "open": document.open_document, "new": document.new, "save": document.save,
    "list_files": document.list_files, "validate": document.validate, "export": document.export,
    "list_pipelines": program.list_pipelines, "trace": program.trace,
    "preview": preview.preview, "cancel": preview.cancel, "run": preview.run, "sweep": preview.sweep,
    "compare": preview.compare,
}  # fmt: skip


def handler_of(method: str) -> Handler:
    """What answers this method.

    Raises
    ------
    DocumentError
        With the code ``unknown_method``.
    """
    found = gallery.ask if method.startswith("gallery.") else _HANDLERS.get(method)
    if found is None:
        raise DocumentError(f"This session does not know '{method}'.", "unknown_method")
    return found


__all__ = ["Handler", "Request", "handler_of"]
