"""Connections of a session: ports that carry messages, the editors behind them, and their requests."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dali_lab.executor.failures import Cancelled
from dali_lab.model.errors import DaliLabError
from dali_lab.model.short_text import printable
from dali_lab.studio.consent import Consents
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.preview.delivery import DeliveredResults
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.connections import Response, SessionEvent
from dali_lab.studio.protocol.methods import EVENT_NAMES
from dali_lab.studio.protocol.values import JsonObject, SessionError, Wire

Send = Callable[[JsonObject, list[bytes]], None]
MOST_HELD = 1000
"""Messages of a connection that are held; further ones are refused."""
MOST_HELD_BYTES = 64 << 20
"""Bytes of them."""
_LONGEST_NAME = 200
_MOST_EDITORS = 32
_MOST_UNWANTED = 64


class Editor:
    """One editor: the results it has, and its pending requests.

    Attributes
    ----------
    waiting
        Identities of its requests that are not answered yet.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.delivered = DeliveredResults()
        self.waiting: set[str] = set()
        self._preview: Token | None = None
        self._tokens: dict[int, Token] = {}
        self._unwanted: deque[int] = deque(maxlen=_MOST_UNWANTED)

    def begin(self, run: int, token: Token) -> None:
        """Register work that can be cancelled by its number."""
        self._tokens[run] = token
        if run in self._unwanted:
            token.cancel()

    def begin_preview(self, run: int) -> Token:
        """Register a preview; it cancels the one before it."""
        if self._preview is not None:
            self._preview.cancel("superseded")
        self._preview = token = Token()
        self.begin(run, token)
        return token

    def end(self, run: int) -> None:
        """Unregister the work of this number."""
        self._tokens.pop(run, None)

    def cancel(self, run: int) -> None:
        """Cancel the work of this number, if it runs or is still to begin; from any thread."""
        self._unwanted.append(run)
        token = self._tokens.get(run)
        if token is not None:
            token.cancel()

    def cancel_all(self) -> None:
        """Cancel all work of this editor."""
        for token in list(self._tokens.values()):
            token.cancel()


class Port:
    """One connection; several editors may share it (the views of a widget).

    Messages are numbered, so that the client notices lost ones.

    Parameters
    ----------
    send
        Sends one message with its buffers; may raise when the client is gone.

    Attributes
    ----------
    consents
        Numbers by which its person agrees to run code.
    held
        Messages that were received and are still needed: they wait, or are being answered.
    """

    def __init__(self, send: Send) -> None:
        self.consents = Consents()
        self.held = HeldMessages()
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
        """All editors that have sent a request."""
        return list(self._editors.values())

    def tell(self, event: Wire, buffers: Sequence[bytes] = ()) -> None:
        """Send an event."""
        self.send(SessionEvent("event", EVENT_NAMES[type(event)], event), buffers)

    def send(self, message: Response | SessionEvent, buffers: Sequence[bytes] = ()) -> None:
        """Send a message; after a failure nothing is sent until the client is heard again."""
        content = msgspec.to_builtins(message)
        with self._lock:
            number, self._sent = self._sent, self._sent + 1
            if not self.open:
                return
            try:
                self._send({**content, "number": number}, list(buffers))
            except Exception:  # any exception of a host's connection means that the client is gone
                self.open = False
        if not self.open:
            self.cancel()

    def heard(self) -> None:
        """Note that the client has sent something, so it is there."""
        self.open = not self._closed

    def cancel(self) -> None:
        """Cancel all work of its editors."""
        for editor in self.editors():
            editor.cancel_all()

    def close(self) -> None:
        """Send nothing more, even if the client is heard again."""
        self._closed = True
        self.open = False
        self.cancel()


class HeldMessages:
    """Counts messages of a connection that are kept, and their bytes; the thread that receives them asks."""

    def __init__(self) -> None:
        self._count = self._bytes = 0
        self._gone: deque[int] = deque()

    def hold(self, size: int) -> _MessageHold | None:
        """Keep a message of so many bytes as long as the result is kept; `None` where there are too many already."""
        while self._gone:
            self._bytes -= self._gone.popleft()
            self._count -= 1
        if self._count >= MOST_HELD or (self._count and self._bytes + size > MOST_HELD_BYTES):
            return None
        self._count += 1
        self._bytes += size
        return _MessageHold(self._gone, size)


class _MessageHold:
    """Stands for a message; in whatever thread its last reference goes."""

    __slots__ = ("_gone", "_size")

    def __init__(self, gone: deque[int], size: int) -> None:
        self._gone, self._size = gone, size

    def __del__(self) -> None:
        self._gone.append(self._size)


@dataclass(frozen=True)
class Request:
    """A pending request.

    Attributes
    ----------
    port, editor
        Where the request comes from.
    id
        Sent back with the response.
    hold
        Kept with the request, whose content takes memory as long.
    """

    port: Port
    editor: Editor
    id: Any
    hold: object = None

    def answer(self, result: Wire, buffers: Sequence[bytes] = ()) -> None:
        """Send the result; from any thread."""
        self._respond(Response("response", self.id, result=result), buffers)

    def fail(self, error: BaseException) -> None:
        """Send an error; from any thread."""
        self._respond(Response("response", self.id, error=_session_error(error)))

    def answer_by(self, function: Callable[[], tuple[Wire, Sequence[bytes]]]) -> None:
        """Send what a function returns, or its error; for work that takes long."""
        try:
            found = function()
        except Cancelled:
            self.fail(DocumentError("Stopped."))
        except Exception as error:  # a request must always be answered
            self.fail(error)
        else:
            self.answer(*found)

    def _respond(self, response: Response, buffers: Sequence[bytes] = ()) -> None:
        self.port.send(response, buffers)
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
    if isinstance(error, OSError) and error.strerror:
        named = "" if error.filename is None else f"{printable(str(error.filename), _LONGEST_NAME)}: "
        return SessionError(f"{named}{error.strerror}", code="failed")
    if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)):
        return SessionError(f"This request cannot be understood: {type(error).__name__}: {error}", code="failed")
    return SessionError(f"{type(error).__name__}: {error}", code="failed")
