"""The session: a workspace that answers the requests of its editors (`requests/`, a function for each method)."""

from __future__ import annotations

from typing import Any

import msgspec

from dali_lab.studio.connections import Port, Request
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.protocol.values import MOST_LEVELS, too_deep
from dali_lab.studio.requests import HANDLERS
from dali_lab.studio.workspace import Workspace


class Session(Workspace):
    """A workspace that receives and answers the messages of its editors."""

    def receive(self, port: Port, message: object, size: int = 0) -> None:
        """Take a message of so many bytes; answers come through the port, in the order of the requests.

        A request to cancel goes before all others: what it is about may be what they wait for.
        """
        if self.closed:
            return
        port.heard()
        hold = port.held.hold(size)
        if hold is None:
            self._refuse(port, message)
            return
        if isinstance(message, dict) and message.get("method") == "cancel":
            self._answer(port, message, hold)
        else:
            self.do(lambda: self._answer(port, message, hold))

    def _refuse(self, port: Port, message: object) -> None:
        if isinstance(message, dict) and message.get("kind") == "request":
            request = Request(port, port.editor(message.get("id")), message.get("id"))
            request.fail(DocumentError("Too many requests wait: send them more slowly.", "busy"))

    def _answer(self, port: Port, message: object, hold: object) -> None:
        if not isinstance(message, dict) or message.get("kind") != "request":
            return
        identity, method, params = message.get("id"), message.get("method"), message.get("params")
        editor = port.editor(identity)
        editor.waiting.add(str(identity))
        request = Request(port, editor, identity, hold)
        try:
            if method not in HANDLERS:
                raise DocumentError(f"This session does not know '{method}'.", "unknown_method")
            kind, handler = HANDLERS[method]
            result = handler(self, request, parameters(params, kind))
        except Exception as error:  # a request must always be answered
            request.fail(error)
        else:
            if result is not None:
                request.answer(result)


def parameters(params: object, kind: type[Any]) -> Any:
    """The parameters of a request, checked.

    Raises
    ------
    msgspec.ValidationError
        If they are not what the method takes; it names the field.
    """
    if too_deep(params):
        raise msgspec.ValidationError(f"it has over {MOST_LEVELS} lists and objects in each other")
    try:
        return msgspec.convert(params if isinstance(params, dict) else {}, kind)
    except UnicodeEncodeError as error:
        raise msgspec.ValidationError(f"a name is not text: {error}") from error
