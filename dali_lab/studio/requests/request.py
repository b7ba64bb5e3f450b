"""A request of an editor, and the ways to answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.clients import Editor, Port
from dali_lab.studio.document.graph_document import DocumentError
from dali_lab.studio.preview.entries import error_entry

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes
    ----------
    port, editor
        Who asks.
    id
        Goes back with the response.
    method, params
        What for.
    """

    port: Port
    editor: Editor
    id: Any
    method: str
    params: Json

    @classmethod
    def read(cls, port: Port, message: Any) -> Request | None:
        """The request in a message; `None` if it is none."""
        if not isinstance(message, dict) or message.get("kind") != "request":
            return None
        identity, params = message.get("id"), message.get("params")
        editor = port.editor(identity)
        editor.waiting.add(str(identity))
        return cls(port, editor, identity, str(message.get("method")), params if isinstance(params, dict) else {})

    def answer(self, result: Json, buffers: Sequence[bytes] = ()) -> None:
        """Send the result; from any thread."""
        self._respond({"result": result}, buffers)

    def fail(self, error: BaseException) -> None:
        """Say what went wrong; from any thread."""
        self._respond({"error": _entry(error)})

    def _respond(self, content: Json, buffers: Sequence[bytes] = ()) -> None:
        self.port.send({"kind": "response", "id": self.id, **content}, list(buffers))
        # Only now: what does not wait any more and has not come is lost.
        self.editor.waiting.discard(str(self.id))

    def tell(self, event: str, params: Json, buffers: Sequence[bytes] = ()) -> None:
        """Send an event to whoever asked."""
        self.port.send({"kind": "event", "event": event, "params": params}, list(buffers))


def _entry(error: BaseException) -> Json:
    if isinstance(error, DocumentError):
        return {**error.extra, "message": error.message, "code": error.code}
    if isinstance(error, DaliLabError):
        return {**error_entry(error), "code": "failed"}
    if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)):
        text = f"This request cannot be understood: {type(error).__name__}: {error}"
        return {"message": text, "code": "failed"}
    return {"message": f"{type(error).__name__}: {error}", "code": "failed"}
