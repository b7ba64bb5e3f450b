"""Connections of a session: ports that carry messages, the editors behind them, and their requests."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.preview.delivery import Delivered
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.methods import EVENT_NAMES
from dali_lab.studio.protocol.values import JsonObject, SessionError, Wire

Send = Callable[[JsonObject, list[bytes]], None]
_MOST_EDITORS = 32


class Editor:
    """One editor: what it has seen, and what it waits for.

    Attributes
    ----------
    waiting
        Identities of its requests that are not answered yet.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.delivered = Delivered()
        self.waiting: set[str] = set()
        self._preview: Token | None = None
        self._tokens: dict[int, Token] = {}

    def begin(self, run: int, token: Token) -> None:
        """Work that can be cancelled by its number begins."""
        self._tokens[run] = token

    def begin_preview(self, run: int) -> Token:
        """A preview begins, and the one before it is not waited for any more."""
        if self._preview is not None:
            self._preview.cancel("superseded")
        self._preview = token = Token()
        self.begin(run, token)
        return token

    def end(self, run: int) -> None:
        """The work of this number has ended."""
        self._tokens.pop(run, None)

    def cancel(self, run: int) -> None:
        """Stop the work of this number, if it still goes on."""
        token = self._tokens.get(run)
        if token is not None:
            token.cancel()

    def cancel_all(self) -> None:
        """Stop everything that this editor waits for."""
        for token in list(self._tokens.values()):
            token.cancel()


class Port:
    """One connection; several editors may share it (the views of a widget).

    Its messages are numbered, so that the other side notices if some were lost.

    Parameters
    ----------
    send
        Carries one message with its buffers; may raise when the other side is gone.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._editors: OrderedDict[str, Editor] = OrderedDict()
        self._sent = 0
        self._closed = False
        self.open = True

    def editor(self, message_id: object) -> Editor:
        """The editor that a request comes from: its id is the part of the request's id before the last dash."""
        name = message_id.rpartition("-")[0] if isinstance(message_id, str) else ""
        found = self._editors.get(name)
        if found is None:
            found = self._editors[name] = Editor(name)
            while len(self._editors) > _MOST_EDITORS:
                _, oldest = self._editors.popitem(last=False)
                oldest.cancel_all()
        self._editors.move_to_end(name)
        return found

    def editors(self) -> list[Editor]:
        """All editors that were heard."""
        return list(self._editors.values())

    def tell(self, event: Wire, buffers: Sequence[bytes] = ()) -> None:
        """Send an event."""
        self.send({"kind": "event", "event": EVENT_NAMES[type(event)], "params": event}, buffers)

    def send(self, message: JsonObject, buffers: Sequence[bytes] = ()) -> None:
        """Send a message; to a side that is gone nothing more is sent until it is heard again."""
        with self._lock:
            number, self._sent = self._sent, self._sent + 1
            if not self.open:
                return
            try:
                self._send({**msgspec.to_builtins(message), "number": number}, list(buffers))
            except Exception:  # whatever a host's connection raises means that nobody listens now
                self.open = False
        if not self.open:
            self.cancel()

    def heard(self) -> None:
        """The other side has said something, so it is there."""
        self.open = not self._closed

    def cancel(self) -> None:
        """Stop what its editors wait for."""
        for editor in self.editors():
            editor.cancel_all()

    def close(self) -> None:
        """Send nothing more, whatever is heard."""
        self._closed = True
        self.open = False
        self.cancel()


@dataclass(frozen=True)
class Request:
    """A request that waits for its answer.

    Attributes
    ----------
    port, editor
        Who asks.
    id
        Goes back with the response.
    """

    port: Port
    editor: Editor
    id: object

    def answer(self, result: Wire | JsonObject, buffers: Sequence[bytes] = ()) -> None:
        """Send the result; from any thread."""
        self._respond("result", result, buffers)

    def fail(self, error: BaseException) -> None:
        """Say what went wrong; from any thread."""
        self._respond("error", _session_error(error))

    def _respond(self, part: str, content: Wire | JsonObject, buffers: Sequence[bytes] = ()) -> None:
        self.port.send({"kind": "response", "id": self.id, part: content}, buffers)
        # Only now: what does not wait any more and has not come is lost.
        self.editor.waiting.discard(str(self.id))


def _session_error(error: BaseException) -> SessionError:
    if isinstance(error, DocumentError):
        return msgspec.convert({"message": error.message, "code": error.code, **error.extra}, SessionError)
    if isinstance(error, DaliLabError):
        return SessionError.of(error, "failed")
    if isinstance(error, msgspec.ValidationError):
        text, _, path = str(error).partition(" - at `$")
        return SessionError(f"This request cannot be understood: {path.strip('.`') or 'it'}: {text}", code="failed")
    if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)):
        return SessionError(f"This request cannot be understood: {type(error).__name__}: {error}", code="failed")
    return SessionError(f"{type(error).__name__}: {error}", code="failed")
