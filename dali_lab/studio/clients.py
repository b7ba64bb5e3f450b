"""Who is on a session: ports that carry messages, and the editors behind them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dali_lab.studio.preview import Delivered
from dali_lab.studio.results import Token

Json = dict[str, Any]
Send = Callable[[Json, list[bytes]], None]
_MOST_EDITORS = 32


class Editor:
    """One editor: what it has seen, and the preview it waits for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.delivered = Delivered()
        self.token: Token | None = None
        self.run: int | None = None


class Port:
    """One connection; several editors may share it (the views of a widget).

    Parameters
    ----------
    send
        Carries one message with its buffers; may raise when the other side is gone.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._editors: OrderedDict[str, Editor] = OrderedDict()
        self.open = True

    def editor(self, message_id: Any) -> Editor:
        """The editor that a request comes from: its id is the part of the request's id before the last dash."""
        name = message_id.rpartition("-")[0] if isinstance(message_id, str) else ""
        found = self._editors.get(name)
        if found is None:
            found = self._editors[name] = Editor(name)
            while len(self._editors) > _MOST_EDITORS:
                _, oldest = self._editors.popitem(last=False)
                if oldest.token is not None:
                    oldest.token.cancel()
        self._editors.move_to_end(name)
        return found

    def editors(self) -> list[Editor]:
        """All editors that were heard."""
        return list(self._editors.values())

    def send(self, message: Json, buffers: list[bytes] | None = None) -> None:
        """Send a message; a port whose other side is gone is closed, and nothing more is sent."""
        with self._lock:
            if not self.open:
                return
            try:
                self._send(message, buffers or [])
            except Exception:  # whatever a host's connection raises means that nobody listens any more
                self.open = False
        if not self.open:
            self.cancel()

    def cancel(self) -> None:
        """Stop what its editors wait for."""
        for editor in self.editors():
            if editor.token is not None:
                editor.token.cancel()

    def close(self) -> None:
        """Send nothing more."""
        self.open = False
        self.cancel()
