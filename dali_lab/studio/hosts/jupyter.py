"""The kernel's side of the JupyterLab document: each comm that an editor opens is a connection to a session of its own.

Importing this module in a kernel registers the comm target; the extension does that before it opens a comm.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.hosts.application import sample_starts
from dali_lab.studio.protocol.connections import Notice
from dali_lab.studio.protocol.values import JsonObject
from dali_lab.studio.session import Session
from dali_lab.studio.working_folder import hold as hold  # the extension's import code calls it here

TARGET = "dali_lab.session"
_open: weakref.WeakSet[Connection] = weakref.WeakSet()
_kept: set[Connection] = set()


class Connection:
    """A comm and the session behind it.

    Parameters
    ----------
    comm
        Carries the messages; must have `send`, `on_msg` and `on_close`.
    data
        Data of the opening message: ``document``, and perhaps ``title`` and ``read_only``.
    """

    def __init__(self, comm: Any, data: JsonObject) -> None:
        self.comm = comm
        notice = None
        try:
            document = checked(data["document"]) if data.get("document") is not None else None
        except DocumentError as error:
            # The editor keeps its own document and reports the problem, so nothing is lost.
            document, notice = None, Notice("error", error.message)
        self.session = Session(
            document,
            title=str(data.get("title") or ""),
            samples=sample_starts(None),
            read_only=data.get("read_only") is True,
        )
        if notice is not None:
            self.session.notices.append(notice)
        self._port = self.session.attach(lambda message, buffers: comm.send(data=message, buffers=buffers))
        comm.on_msg(self._take)
        comm.on_close(self._closed)
        _open.add(self)
        _kept.add(self)

    def interrupt(self) -> None:
        """Cancel the running work of this editor."""
        self._port.cancel()

    def close(self) -> None:
        """End the session."""
        _kept.discard(self)
        self.session.close()

    def _take(self, message: JsonObject) -> None:
        self.session.receive(self._port, message["content"]["data"])

    def _closed(self, _: object) -> None:
        # The kernel does not wait for running previews to end.
        threading.Thread(target=self.close, name="dali-lab-closing", daemon=True).start()


def interrupt_all() -> None:
    """Cancel the previews and sweeps of all editors on this kernel."""
    for connection in list(_open):
        connection.interrupt()


def connect(comm: object, message: JsonObject) -> None:
    """Answer an editor that opens a comm."""
    Connection(comm, message["content"].get("data") or {})


def register() -> bool:
    """Register the comm target with this process's kernel; whether there is one."""
    import comm

    try:
        comm.get_comm_manager().register_target(TARGET, connect)
    except NotImplementedError:
        return False
    _watch_interrupts()
    return True


def _watch_interrupts() -> None:
    """Let an interrupt of an idle kernel cancel previews; a kernel that runs a cell is interrupted as ever.

    A kernel ignores the signal while it is idle, and restores the former handler when a cell has ended.
    """
    module = sys.modules.get("ipykernel.kernelbase")
    if module is None or not module.Kernel.initialized():
        return
    kernel = module.Kernel.instance()
    before = getattr(kernel, "saved_sigint_handler", None)
    if getattr(before, "cancels_previews", False):
        return
    handler = _handler(before if callable(before) else None)
    kernel.saved_sigint_handler = handler
    with contextlib.suppress(ValueError):
        # Outside a cell nothing is restored, so it is set at once; only the main thread may.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, handler)


def _handler(before: Callable[..., Any] | None) -> Callable[[int, Any], None]:
    def handle(number: int, frame: object) -> None:
        # A lock may be held where the signal came: another thread takes it.
        threading.Thread(target=interrupt_all, name="dali-lab-interrupt", daemon=True).start()
        if before is not None:
            before(number, frame)

    handle.cancels_previews = True  # type: ignore[attr-defined]
    return handle


register()
