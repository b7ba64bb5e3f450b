"""The workspace: one document, its evaluator, and the editors that are connected to it.

One thread answers requests in order, another makes previews, and each real run has one of its own.
"""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from dali_lab.executor.failures import Cancelled
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import is_built_in, on_register
from dali_lab.studio.caching import unchanging
from dali_lab.studio.connections import Port, Send
from dali_lab.studio.dataset.service import Datasets
from dali_lab.studio.document.changes import read_changes
from dali_lab.studio.document.recovery import Recovery
from dali_lab.studio.document.store import Sample, Store
from dali_lab.studio.errors import about
from dali_lab.studio.gallery import Gallery
from dali_lab.studio.jobs import Jobs, attempt
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.preview.evaluation import Evaluator
from dali_lab.studio.preview.rendering import Renderer
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol import documents
from dali_lab.studio.protocol.connections import CatalogueChanged, Notice, State
from dali_lab.studio.protocol.documents import Changed, Changes, Document, Opened, Problems
from dali_lab.studio.protocol.values import JsonObject, Permission, Wire

AUTOSAVE_SECONDS = 1.0
_workspaces: weakref.WeakSet[Workspace] = weakref.WeakSet()


class Workspace:
    """One document, one executor, any number of editors.

    Parameters
    ----------
    document, title, file
        The first document, its title, and its file.
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
        Called with the session after each edit, on the thread that made it.
    on_select
        Called with the names of the selected nodes.
    objects
        Python objects that the document names.
    permissions
        What the document may use, and where files may be; by default `root`, the person's home, and `objects`.

    Attributes
    ----------
    store
        The document; use it only under `lock`.
    lock
        Hold it to change the document or to read more than one part of it.
    evaluator, renderer
        Compute nodes, and make pictures of their outputs.
    jobs
        The thread of previews.
    notices
        Notices for the next editor that connects.
    documentation
        The address below which the host serves the documentation; `None` where it does not.
    closed
        Whether it has ended.
    """

    def __init__(
        self,
        document: Document | None = None,
        *,
        title: str = "",
        file: Path | None = None,
        root: Path | None = None,
        samples: Sequence[Sample] = (),
        gallery: Sequence[Sample] = (),
        recovery: Recovery | None = None,
        read_only: bool = False,
        threads: int | None = None,
        on_change: Callable[[Workspace], None] | None = None,
        on_select: Callable[[list[str]], None] | None = None,
        objects: Mapping[str, Any] | None = None,
        permissions: Permissions | None = None,
    ) -> None:
        self.id = uuid.uuid4().hex
        self.store = Store(
            document,
            title=title,
            file=file,
            root=root,
            recovery=recovery,
            read_only=read_only,
            objects=objects,
            permissions=permissions,
        )
        self.lock = threading.RLock()
        self.evaluator = Evaluator(threads=threads, roots=self.store.permissions.roots)
        self.renderer = Renderer(self.evaluator.threads)
        self.notices: list[Notice] = []
        self.samples = {sample.name: sample for sample in samples}
        self.gallery_samples = {sample.name: sample for sample in gallery}
        self.on_change = on_change
        self.on_select = on_select
        self._gallery_page: Gallery | None = None
        self._datasets: Datasets | None = None
        self._beside: Self | None = None
        self._ports: list[Port] = []
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._warming: Token | None = None
        self._run: threading.Thread | None = None
        self._running: Token | None = None
        self._keep_at: float | None = None
        self._not_kept: str | None = None
        self._problems_due = False
        self.documentation: str | None = None
        self.closed = False
        self.jobs = Jobs("dali-lab-previews")
        self._thread = threading.Thread(target=self._take_work, name="dali-lab-session", daemon=True)
        self._thread.start()
        _workspaces.add(self)

    @property
    def gallery_page(self) -> Gallery:
        """The gallery behind the pages of this session, begun with the first request for it."""
        with self.lock:
            if self._gallery_page is None:
                self._gallery_page = Gallery(self.store.root, self.store.permissions)
            return self._gallery_page

    @property
    def datasets(self) -> Datasets:
        """The datasets behind the views of this session, begun with the first request for one."""
        with self.lock:
            if self._datasets is None:
                self._datasets = Datasets(self.store.permissions)
            return self._datasets

    def beside(self) -> Self:
        """The session of a second graph beside this one, with the same files and permissions.

        At first it is a copy, or what was not saved there the last time.
        """
        with self.lock:
            if self._beside is None:
                kept = self.store.recovery
                recovery = None if kept is None else Recovery(kept.folder, beside=True)
                found = None if recovery is None else recovery.take()
                document, file, title = found or (
                    copy.deepcopy(self.store.document),
                    None,
                    f"{self.store.title} (copy)",
                )
                self._beside = type(self)(
                    document,
                    title=title,
                    file=file,
                    recovery=recovery,
                    root=self.store.root,
                    samples=list(self.samples.values()),
                    gallery=list(self.gallery_samples.values()),
                    threads=self.evaluator.threads,
                    permissions=self.store.permissions,
                )
                self._beside.store.seed_like = self.store
                self._beside.store.dirty = found is not None
            return self._beside

    # --- connections ----------------------------------------------------------------------------------------------

    def attach(self, send: Send) -> Port:
        """A new connection; `send` carries messages to it, from any thread."""
        port = Port(send)
        with self.lock:
            self._ports.append(port)
        return port

    def detach(self, port: Port) -> None:
        """Remove a closed connection and cancel its work."""
        port.close()
        with self.lock:
            if port in self._ports:
                self._ports.remove(port)

    def broadcast(self, event: Wire, besides: Port | None = None) -> None:
        """Send an event to all editors; a port that is left out hears it all the same if it has several."""
        with self.lock:
            ports = [port for port in self._ports if port is not besides or len(port.editors()) > 1]
        for port in ports:
            port.tell(event)

    def close(self) -> None:
        """End all work and keep unsaved changes. Can be called again."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            ports = list(self._ports)
        for port in ports:
            self.detach(port)
        if self._beside is not None:
            self._beside.close()
        self.stop_warming()
        self._work.put(None)
        self.jobs.close()
        for thread in (self._thread, self._run):
            if thread is not None and thread is not threading.current_thread():
                thread.join(10)
        self.store.keep()
        if self._gallery_page is not None:
            self._gallery_page.close()
        if self._datasets is not None:
            self._datasets.close()
        self.renderer.close()
        self.evaluator.close()

    # --- work ---------------------------------------------------------------------------------------------------

    def do(self, function: Callable[[], None]) -> None:
        """Run a function on the session's thread, between requests."""
        self._work.put(function)

    def _take_work(self) -> None:
        while True:
            try:
                wait = None
                if self._keep_at is not None:
                    wait = max(0.0, self._keep_at - time.monotonic())
                work = self._work.get(timeout=0 if self._problems_due else wait)
            except queue.Empty:
                attempt(self._when_idle)
                continue
            if work is None:
                return
            attempt(work)
            del work  # with the message in it, while nothing else comes

    def _when_idle(self) -> None:
        if self._problems_due:
            self._problems_due = False
            self.broadcast(self.problems())
        if self._keep_at is not None and time.monotonic() >= self._keep_at:
            self._keep_at = None
            with self.lock:
                reason = self.store.keep()
            if reason is not None and reason != self._not_kept:
                self.broadcast(Notice("warning", f"Unsaved work is not kept: {reason}. Save the graph."))
            self._not_kept = reason

    # --- the document ---------------------------------------------------------------------------------------------

    def edit(
        self, changes: Changes | JsonObject, client: str = "", besides: Port | None = None, *, placed: bool = False
    ) -> int:
        """Apply changes and tell the editors; the new revision.

        Parameters
        ----------
        client, besides
            The editor that made them, which knows them already, and its port.
        placed
            See :class:`~dali_lab.studio.protocol.documents.EditRequest`.

        Raises
        ------
        DocumentError
            If the document is read-only, or the changes cannot be understood.
        """
        store, changes = self.store, read_changes(changes)
        with self.lock:
            was_dirty, seed = store.dirty, store.seed
            meaning = store.edit(changes, placed)
            revision, now_seed = store.revision, store.seed
        self.broadcast(Changed(revision, changes, client), besides=besides)
        state = State(dirty=None if was_dirty == store.dirty else True, seed=now_seed if now_seed != seed else None)
        if state != State():
            self.broadcast(state)
        self.do(self.keep_soon)
        if meaning:
            self.do(self.look_for_problems)
        if self.on_change is not None:
            self.on_change(self)
        return revision

    def replace(self, document: Document) -> None:
        """Show another document in all editors; for hosts whose document changed on their side."""
        with self.lock:
            self.store.replace(document, title=self.store.title, file=self.store.file)
            self._forget_pictures()
            opened = self.store.opened()
        self.broadcast(opened)
        self.do(self.look_for_problems)
        if self.on_change is not None:
            self.on_change(self)

    def document_replaced(self, besides: Port) -> None:
        """Tell the other editors that there is another document; on the session's thread."""
        self._forget_pictures()
        self.look_for_problems()
        self.broadcast(self.store.opened(), besides=besides)

    def opened(self, port: Port) -> Opened:
        """Announce a document that an editor opened to the others, and return it."""
        self.store.read_only = False
        self.document_replaced(besides=port)
        if self.on_change is not None:
            self.on_change(self)
        return self.store.opened()

    def problems(self) -> Problems:
        """The document's problems."""
        with self.lock:
            found, revision = self.store.checked(), self.store.revision
        problems = [
            documents.Problem(
                each.severity,
                about(each.message, each.argument),
                each.code,
                each.node,
                each.argument,
                each.input,
                permission=found.permissions.get(problem),
            )
            for problem, each in found.instances.problems(found.problems)
        ]
        return Problems(revision, problems, unchanging(found.runnable))

    def allow(self, permission: Permission) -> None:
        """Give a permission that the person agreed to, and tell the editors.

        Raises
        ------
        DaliLabError
            If it names a Python object that cannot be imported.
        """
        self.store.permissions.allow(permission)
        with self.lock:
            self.store.forget_checks()
        self.broadcast(self.problems())

    def look_for_problems(self) -> None:
        """Send the problems to all editors when there is nothing else to do; on the session's thread."""
        self._problems_due = True

    def keep_soon(self) -> None:
        """Write unsaved work to its recovery file in a moment; on the session's thread."""
        if self._keep_at is None:
            self._keep_at = time.monotonic() + AUTOSAVE_SECONDS

    def _forget_pictures(self) -> None:
        for port in self._ports:
            for editor in port.editors():
                editor.delivered.clear()

    # --- what is computed -----------------------------------------------------------------------------------------

    def warm(self, samples: int = 8) -> None:
        """Begin to compute the first preview, so that it is there when the first editor comes."""
        token = self._warming = Token()

        def work() -> None:
            with self.lock:
                found, seed = self.store.checked(), self.store.seed
            with contextlib.suppress(Cancelled, DaliLabError):
                self.evaluator.evaluate(found.runnable, seed, samples=samples, token=token)

        self.jobs.put(work)

    def stop_warming(self) -> None:
        """Stop warming: results so far are cached, the rest is computed on request."""
        if self._warming is not None:
            self._warming.cancel()
            self._warming = None

    @property
    def running(self) -> bool:
        """Whether a real run goes on."""
        return self._running is not None

    def start_run(self, token: Token, work: Callable[[], None]) -> None:
        """Begin a real run, on a thread of its own, which goes on until :meth:`end_run`."""
        self._running = token
        self._run = threading.Thread(target=work, name="dali-lab-run", daemon=True)
        self._run.start()

    def end_run(self, token: Token) -> None:
        """Let the next run begin, where this one is the last."""
        if self._running is token:
            self._running = None


def _catalogue_changed(operator: type[Operator]) -> None:
    if is_built_in(operator):
        # Imported on first use; editors have it in their catalogue from the start.
        return
    for workspace in list(_workspaces):
        workspace.store.forget_checks()
        workspace.broadcast(CatalogueChanged())


on_register(_catalogue_changed)
