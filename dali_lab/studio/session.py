"""The session: answers editors in the protocol of ``extension/PROTOCOL.md``, and previews what they draw.

One thread takes requests in their order, another one makes previews, and each real run has one of its own.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dali_lab.errors import DaliLabError
from dali_lab.executor.engine import Cancelled
from dali_lab.formats import json_file
from dali_lab.schema.catalogue import catalogue
from dali_lab.schema.registry import on_register
from dali_lab.studio import programs
from dali_lab.studio.clients import Editor, Port, Send
from dali_lab.studio.documents import DocumentError, checked
from dali_lab.studio.evaluation import Evaluator
from dali_lab.studio.exports import available, export_document, export_file, is_file
from dali_lab.studio.files import Recovery, listing, title_of
from dali_lab.studio.gallery import Gallery
from dali_lab.studio.preview import PreviewRequest, Renderer, error_entry, run_preview
from dali_lab.studio.results import Token
from dali_lab.studio.running import compare, run_events, sweep
from dali_lab.studio.store import UNTITLED, Sample, Store
from dali_lab.studio.validation import check, problem_entry

Json = dict[str, Any]
Answer = tuple[Json, list[bytes]]
PROTOCOL = 1
AUTOSAVE_SECONDS = 1.0
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


class Session:
    """One document, one executor, any number of editors.

    Parameters
    ----------
    document, title, file
        What to begin with.
    root
        The folder that paths start from and that is listed first.
    samples, gallery
        Graphs that can be opened by name.
    recovery
        Where unsaved work is kept; `None` keeps none.
    read_only
        Refuse edits.
    threads
        Threads for previews; by default one for each core.
    on_change
        Called with the session after each edit, on its own thread.
    on_select
        Called with the names of the selected nodes.
    objects
        Python objects that the document names.
    """

    def __init__(
        self,
        document: Json | None = None,
        *,
        title: str = "",
        file: Path | None = None,
        root: Path | None = None,
        samples: Sequence[Sample] = (),
        gallery: Sequence[Sample] = (),
        recovery: Recovery | None = None,
        read_only: bool = False,
        threads: int | None = None,
        on_change: Callable[[Session], None] | None = None,
        on_select: Callable[[list[str]], None] | None = None,
        objects: Mapping[str, Any] | None = None,
    ) -> None:
        self.id = uuid.uuid4().hex
        self.store = Store(
            document, title=title, file=file, root=root, recovery=recovery, read_only=read_only, objects=objects
        )
        self.evaluator = Evaluator(threads=threads)
        self.renderer = Renderer(self.evaluator.threads)
        self.notices: list[Json] = []
        self._samples = {sample.name: sample for sample in samples}
        self._gallery = {sample.name: sample for sample in gallery}
        self._gallery_page: Gallery | None = None
        self._on_change = on_change
        self._on_select = on_select
        self._ports: list[Port] = []
        self._lock = threading.RLock()
        self._requests: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._jobs: deque[Callable[[], None]] = deque()
        self._jobs_ready = threading.Condition()
        self._tokens: dict[int, Token] = {}
        self._run: threading.Thread | None = None
        self._keep_at: float | None = None
        self._problems_due = False
        self._closed = False
        self._threads = [
            threading.Thread(target=self._take_requests, name="dali-lab-session", daemon=True),
            threading.Thread(target=self._take_jobs, name="dali-lab-previews", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        _sessions.add(self)

    def attach(self, send: Send) -> Port:
        """A new connection; `send` carries messages to it, from any thread."""
        port = Port(send)
        with self._lock:
            self._ports.append(port)
        return port

    def detach(self, port: Port) -> None:
        """A connection is gone; what it waited for is cancelled."""
        port.close()
        with self._lock:
            if port in self._ports:
                self._ports.remove(port)

    def receive(self, port: Port, message: Any) -> None:
        """Take a message; answers come through the port, in the order of the requests."""
        if not self._closed:
            self._requests.put(lambda: self._answer(port, message))

    def warm(self, samples: int = 8) -> None:
        """Begin to compute the first preview, so that it is there when the first editor comes."""

        def work() -> None:
            with self._lock:
                found, seed = self.store.checked(), self.store.seed
            token = Token()
            self._tokens[-1] = token
            with contextlib.suppress(Cancelled, DaliLabError):
                self.evaluator.evaluate(found.runnable, seed, samples=samples, token=token)
            self._tokens.pop(-1, None)

        self._queue_job(work)

    def do(self, function: Callable[[], None]) -> None:
        """Run a function on the session's thread, between requests."""
        self._requests.put(function)

    def close(self) -> None:
        """End all work and keep what is unsaved. Can be called again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            ports = list(self._ports)
        for port in ports:
            self.detach(port)
        for token in list(self._tokens.values()):
            token.cancel()
        self._requests.put(None)
        with self._jobs_ready:
            self._jobs.clear()
            self._jobs_ready.notify_all()
        for thread in [*self._threads, self._run]:
            if thread is not None and thread is not threading.current_thread():
                thread.join(10)
        self.store.keep()
        if self._gallery_page is not None:
            self._gallery_page.close()
        self.renderer.close()
        self.evaluator.close()

    def broadcast(self, event: str, params: Json, besides: Port | None = None) -> None:
        """Send an event to all editors; a port that is left out hears it all the same if it has several."""
        with self._lock:
            ports = [port for port in self._ports if port is not besides or len(port.editors()) > 1]
        for port in ports:
            port.send({"kind": "event", "event": event, "params": params})

    def replace(self, document: Json) -> None:
        """Show another document in all editors; for hosts whose document changed on their side."""
        with self._lock:
            self.store.replace(document, title=self.store.title, file=self.store.file)
            self._all_have_nothing()
            opened = self.store.opened()
        self.broadcast("document", opened)
        self.do(self._look_for_problems)

    # --- requests -------------------------------------------------------------------------------------------------

    def _take_requests(self) -> None:
        while True:
            try:
                wait = None
                if self._keep_at is not None:
                    wait = max(0.0, self._keep_at - time.monotonic())
                work = self._requests.get(timeout=0 if self._problems_due else wait)
            except queue.Empty:
                self._when_idle()
                continue
            if work is None:
                return
            work()

    def _look_for_problems(self) -> None:
        self._problems_due = True

    def _when_idle(self) -> None:
        if self._problems_due:
            self._problems_due = False
            self.broadcast("problems", self._validate())
        if self._keep_at is not None and time.monotonic() >= self._keep_at:
            self._keep_at = None
            with self._lock:
                self.store.keep()

    def _answer(self, port: Port, message: Any) -> None:
        if not isinstance(message, dict) or message.get("kind") != "request":
            return
        response: Json = {"kind": "response", "id": message.get("id")}
        buffers: list[bytes] = []
        try:
            params = message.get("params")
            editor = port.editor(message.get("id"))
            method = str(message.get("method"))
            handler = Session._ask_gallery if method.startswith("gallery.") else self._handlers.get(method)
            if handler is None:
                raise DocumentError(f"This session does not know '{message.get('method')}'.", "unknown_method")
            result = handler(self, port, editor, params if isinstance(params, dict) else {}, message)
            if result is None:
                return
            response["result"] = result
        except Exception as error:  # a request must always be answered
            response["error"] = _error(error)
        port.send(response, buffers)

    def _hello(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        editor.delivered.clear()
        if not editor.name:
            editor.name = str(params.get("client") or "")
        self._problems_due = True
        for notice in self.notices:
            port.send({"kind": "event", "event": "notice", "params": notice})
        self.notices = []
        return self._greeting()

    def _greeting(self) -> Json:
        from dali_lab import __version__

        with self._lock:
            opened = self.store.opened()
            read_only = self.store.read_only
        return {
            "protocol": PROTOCOL,
            "session": self.id,
            "version": __version__,
            **opened,
            "read_only": read_only,
            "device": device_text(),
            "capabilities": {
                "preview": True, "run": True, "validate": True, "sweep": True, "compare": True,
                "open": True, "save": True, "list_files": True, "gallery_page": True,
                "select": self._on_select is not None,
                "samples": [sample.entry() for sample in self._samples.values()],
                "gallery": [sample.entry() for sample in self._gallery.values()],
                "export": available(), "export_files": available(files=True),
            },
        }  # fmt: skip

    def _restore(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        document = checked(params.get("document"))
        file = params.get("file")
        path = self.store.resolve(str(file["path"])) if isinstance(file, dict) and file.get("path") else None
        with self._lock:
            title = self.store.title if path is None else ""
            self.store.replace(
                document,
                title=title or (path.name if path else UNTITLED),
                file=path,
                dirty=params.get("dirty") is not False,
            )
            self._all_have_nothing()
        self._problems_due = True
        self._tell_document(port)
        return self._greeting()

    def _catalogue(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        return catalogue()

    def _edit(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        changes = params.get("changes")
        with self._lock:
            was_dirty, seed = self.store.dirty, self.store.seed
            meaning = self.store.edit(changes)
            revision = self.store.revision
            now_seed = self.store.seed
        self.broadcast("changed", {"revision": revision, "changes": changes, "client": editor.name}, besides=port)
        state: Json = {}
        if not was_dirty:
            state["dirty"] = True
        if now_seed != seed:
            state["seed"] = now_seed
        if state:
            self.broadcast("state", state)
        if self._keep_at is None:
            self._keep_at = time.monotonic() + AUTOSAVE_SECONDS
        if meaning:
            self._problems_due = True
        if self._on_change is not None:
            self._on_change(self)
        return {"revision": revision}

    def _open(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        with self._lock:
            pipeline = params.get("pipeline")
            if params.get("path") is not None:
                warnings = self.store.open_path(params["path"], pipeline)
            elif params.get("text") is not None:
                warnings = self.store.open_text(str(params["text"]), str(params.get("name") or ""), pipeline)
            else:
                self._open_named(params)
                warnings = []
            return self._opened(port, warnings)

    def _open_named(self, params: Json) -> None:
        for kind, table in (("sample", self._samples), ("gallery", self._gallery)):
            name = params.get(kind)
            if name is None:
                continue
            sample = table.get(str(name))
            if sample is None and kind == "gallery":
                entry = self.gallery_page.entry(str(name))
                self.store.replace(json_file.to_document(entry.over()), title=entry.title)
                return
            if sample is None:
                raise DocumentError(f"There is no {kind} '{name}'.", "not_found")
            self.store.replace(sample.make(), title=sample.title)
            return
        raise DocumentError("Say what to open: a path, a text, or a sample.")

    def _new(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        from dali_lab.studio.documents import empty_document

        with self._lock:
            self.store.replace(empty_document())
            return self._opened(port, [])

    def _program(self, params: Json) -> programs.Program:
        if params.get("path") is not None:
            return programs.Program.of_file(self.store.resolve(params["path"]))
        return programs.Program(str(params.get("text") or ""), str(params.get("name") or ""))

    def _list_pipelines(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        return programs.listed(self._program(params))

    def _trace(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        run = int(params["run"])
        program = self._program(params)
        token = programs.Cancellation()
        self._tokens[run] = token

        def work() -> None:
            try:
                document = programs.traced(program, params, token)
            except Exception as error:  # a request must always be answered
                found = _error(error)
                self.do(lambda: port.send({"kind": "response", "id": message.get("id"), "error": found}))
            else:
                self.do(lambda: take(document))
            finally:
                self._tokens.pop(run, None)

        def take(document: Json) -> None:
            with self._lock:
                self.store.replace(document, title=title_of(program.name) or UNTITLED, dirty=True)
                result = self._opened(port, [])
            port.send({"kind": "response", "id": message.get("id"), "result": result})

        threading.Thread(target=work, name="dali-lab-trace", daemon=True).start()
        return None  # type: ignore[return-value]

    def _opened(self, port: Port, warnings: list[str]) -> Json:
        self.store.read_only = False
        self._all_have_nothing()
        self._problems_due = True
        self._tell_document(port)
        if self._on_change is not None:
            self._on_change(self)
        return self.store.opened(warnings)

    def _tell_document(self, besides: Port) -> None:
        self.broadcast("document", self.store.opened(), besides=besides)

    def _all_have_nothing(self) -> None:
        for port in self._ports:
            for editor in port.editors():
                editor.delivered.clear()

    def _save(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        with self._lock:
            self.store.save(params.get("path"), params.get("overwrite") is True)
            saved = {"file": self.store.file_entry(), "title": self.store.title, "dirty": False}
        self._keep_at = None
        self.broadcast("state", {**saved, "read_only": False}, besides=port)
        return saved

    def _list_files(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        path = params.get("path")
        place = self.store.root if path is None else self.store.resolve(path)
        return listing(place, tuple(params.get("kinds") or ("any",)))

    def _validate(self, *_: Any) -> Json:
        with self._lock:
            found, revision = self.store.checked(), self.store.revision
        return {"revision": revision, "problems": [problem_entry(problem) for problem in found.problems]}

    def _export(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        with self._lock:
            document, title = self.store.document, self.store.title
        to = str(params.get("to"))
        if not is_file(to):
            return export_document(document, to, title)
        result, content = export_file(document, to, title)
        port.send({"kind": "response", "id": message.get("id"), "result": result}, [content])
        return None  # type: ignore[return-value]

    def _select(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        if self._on_select is not None:
            self._on_select([str(name) for name in params.get("nodes") or ()])
        return {}

    def _ping(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        return {}

    # --- the gallery ----------------------------------------------------------------------------------------------

    @property
    def gallery_page(self) -> Gallery:
        """The gallery behind the pages of this session, begun with the first request for it."""
        with self._lock:
            if self._gallery_page is None:
                self._gallery_page = Gallery(self.store.root)
            return self._gallery_page

    def _ask_gallery(self, port: Port, editor: Editor, params: Json, message: Json) -> None:
        response: Json = {"kind": "response", "id": message.get("id")}
        self.gallery_page.ask(
            str(message["method"]),
            params,
            lambda result, buffers: port.send({**response, "result": result}, buffers),
            lambda error: port.send({**response, "error": _error(error)}),
        )

    # --- previews and runs ----------------------------------------------------------------------------------------

    def _preview(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        request = PreviewRequest.read(params)
        if editor.token is not None:
            editor.token.cancel("superseded")
        if -1 in self._tokens:
            # What was warmed by now is known; the rest is told of as it comes.
            self._tokens[-1].cancel()
        token = editor.token = Token()
        with self._lock:
            found, seed = self.store.checked(), self.store.seed
        self._tokens[request.run] = token

        def work() -> None:
            try:
                run_preview(request, found, seed, self.evaluator, self.renderer, editor.delivered, token, emit)
            finally:
                self._tokens.pop(request.run, None)
                if editor.token is token:
                    editor.token = None

        def emit(event: str, event_params: Json, buffers: list[bytes]) -> None:
            port.send({"kind": "event", "event": event, "params": event_params}, buffers)

        port.send({"kind": "response", "id": message.get("id"), "result": {"run": request.run}})
        self._queue_job(work)
        return None  # type: ignore[return-value]

    def _cancel(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        token = self._tokens.get(int(params.get("run", -2)))
        if token is not None:
            token.cancel()
        return {}

    def _run_batches(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        if self._run is not None and self._run.is_alive():
            raise DocumentError("A run is going on already; stop it first.", "busy")
        run = int(params["run"])
        token = self._tokens[run] = Token()
        with self._lock:
            found, seed = self.store.checked(), self.store.seed

        def tell(event: str, event_params: Json) -> None:
            if not port.open:
                token.cancel()
            port.send({"kind": "event", "event": event, "params": event_params})

        def work() -> None:
            try:
                run_events(found, seed, params, token, tell)
            finally:
                self._tokens.pop(run, None)

        port.send({"kind": "response", "id": message.get("id"), "result": {"run": run}})
        self._run = threading.Thread(target=work, name="dali-lab-run", daemon=True)
        self._run.start()
        return None  # type: ignore[return-value]

    def _sweep(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        with self._lock:
            document, seed = self.store.document, self.store.seed
        iteration = max(0, int(params.get("iteration", 0)))
        return self._later(
            port,
            params,
            message,
            lambda token: sweep(self.store, document, seed, iteration, params, self.evaluator, self.renderer, token),
        )

    def _compare(self, port: Port, editor: Editor, params: Json, message: Json) -> Json:
        document = checked(params.get("document"))
        seed = self.store.seed_of(document)
        return self._later(
            port,
            params,
            message,
            lambda token: compare(
                check(document, self.store.objects), seed, params, self.evaluator, self.renderer, token
            ),
        )

    def _later(self, port: Port, params: Json, message: Json, function: Callable[[Token], Answer]) -> Json:
        """Answer from the preview thread: it takes long, and can be cancelled."""
        run = int(params["run"]) if "run" in params else -3
        token = self._tokens[run] = Token()

        def work() -> None:
            response: Json = {"kind": "response", "id": message.get("id")}
            buffers: list[bytes] = []
            try:
                response["result"], buffers = function(token)
            except Cancelled:
                response["error"] = {"message": "Stopped.", "code": "failed"}
            except Exception as error:  # a request must always be answered
                response["error"] = _error(error)
            finally:
                self._tokens.pop(run, None)
            port.send(response, buffers)

        self._queue_job(work)
        return None  # type: ignore[return-value]

    def _queue_job(self, work: Callable[[], None]) -> None:
        with self._jobs_ready:
            self._jobs.append(work)
            self._jobs_ready.notify()

    def _take_jobs(self) -> None:
        while True:
            with self._jobs_ready:
                while not self._jobs and not self._closed:
                    self._jobs_ready.wait()
                if self._closed:
                    return
                work = self._jobs.popleft()
            work()

    _handlers: ClassVar[dict[str, Callable[..., Json | None]]] = {
        "hello": _hello, "restore": _restore, "catalogue": _catalogue, "edit": _edit, "open": _open, "new": _new,
        "save": _save, "list_files": _list_files, "validate": _validate, "preview": _preview, "cancel": _cancel,
        "run": _run_batches, "sweep": _sweep, "compare": _compare, "export": _export, "list_pipelines": _list_pipelines,
        "trace": _trace, "select": _select, "ping": _ping,
    }  # fmt: skip


def device_text() -> str:
    """Where previews are computed, for people."""
    cores = os.cpu_count() or 1
    return f"CPU, {cores} core{'' if cores == 1 else 's'}"


def _error(error: BaseException) -> Json:
    if isinstance(error, DocumentError):
        return {**error.extra, "message": error.message, "code": error.code}
    if isinstance(error, DaliLabError):
        return {**error_entry(error), "code": "failed"}
    if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)):
        text = f"This request cannot be understood: {type(error).__name__}: {error}"
        return {"message": text, "code": "failed"}
    return {"message": f"{type(error).__name__}: {error}", "code": "failed"}


def _catalogue_changed(_: object) -> None:
    for session in list(_sessions):
        session.store.forget_checks()
        session.broadcast("catalogue", {})


on_register(_catalogue_changed)
