"""Requests that edit, open, save, check and export the document."""

from __future__ import annotations

import threading

from dali_lab.executor.failures import Cancelled
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.io.locations import is_remote
from dali_lab.studio.connections import Request
from dali_lab.studio.consent import digest
from dali_lab.studio.document.exports import export_document, export_file, is_file
from dali_lab.studio.document.folders import listing, remote_listing
from dali_lab.studio.document.graph_document import empty_document, of_graph
from dali_lab.studio.document.store import Found
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.permissions import question
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.connections import Empty, State
from dali_lab.studio.protocol.documents import (
    AllowRequest,
    Document,
    Edited,
    EditRequest,
    Exported,
    ExportRequest,
    ListFilesRequest,
    Listing,
    Opened,
    OpenRequest,
    Problems,
    Saved,
    SaveRequest,
)
from dali_lab.studio.protocol.values import Consent
from dali_lab.studio.reporting import shown_nodes
from dali_lab.studio.requests.table import handles
from dali_lab.studio.workspace import Workspace


@handles("edit", EditRequest)
def edit(workspace: Workspace, request: Request, params: EditRequest) -> Edited:
    """Apply changes, and tell the other editors."""
    return Edited(workspace.edit(params.changes, request.editor.name, request.port, placed=params.placed))


@handles("open", OpenRequest)
def open_document(workspace: Workspace, request: Request, params: OpenRequest) -> Opened:
    """Open a file, a text, or a graph by its name."""
    token = Token()
    if params.run is not None:
        request.editor.begin(params.run, token)
    try:
        try:
            found = _found(workspace, params)
        finally:
            token.check()  # nobody waits for an error, either
        with workspace.lock:
            workspace.store.take(found)
            return workspace.opened(request.port)
    except Cancelled as error:
        raise DocumentError("Stopped.", "cancelled") from error
    finally:
        if params.run is not None:
            request.editor.end(params.run)


def _found(workspace: Workspace, params: OpenRequest) -> Found:
    if params.path is not None:
        return workspace.store.find(params.path, params.pipeline)
    if params.text is not None:
        return workspace.store.read(params.text, params.name or "", params.pipeline)
    if params.sample is not None:
        sample = workspace.samples.get(params.sample)
        if sample is None:
            raise DocumentError(f"There is no sample '{params.sample}'.", "not_found")
        return Found(sample.make(), sample.title)
    if params.gallery is not None:
        sample = workspace.gallery_samples.get(params.gallery)
        if sample is not None:
            return Found(sample.make(), sample.title)
        entry = workspace.gallery_page.entry(params.gallery)
        return Found(of_graph(with_groups(entry.over())), entry.title)
    raise DocumentError("Say what to open: a path, a text, or a sample.")


@handles("new", Empty)
def new(workspace: Workspace, request: Request, params: Empty) -> Opened:
    """Begin with an empty document."""
    with workspace.lock:
        workspace.store.replace(empty_document())
        return workspace.opened(request.port)


@handles("save", SaveRequest)
def save(workspace: Workspace, request: Request, params: SaveRequest) -> Saved:
    """Write the document to its file, or to another one."""
    store = workspace.store
    with workspace.lock:
        store.save(params.path, params.overwrite)
        file, title = store.file_info(), store.title
    workspace.broadcast(State(dirty=False, title=title, file=file, read_only=False), besides=request.port)
    return Saved(file, title, False)


@handles("list_files", ListFilesRequest)
def list_files(workspace: Workspace, request: Request, params: ListFilesRequest) -> Listing:
    """List a folder of this machine or of a store."""
    store, kinds = workspace.store, params.kinds or ("any",)
    if params.path is not None and is_remote(params.path):
        store.permissions.server(params.path)
        return remote_listing(params.path, kinds)
    with store.permissions.roots.limiting():
        return listing(store.root if params.path is None else store.resolve(params.path), kinds)


@handles("validate", Empty)
def validate(workspace: Workspace, request: Request, params: Empty) -> Problems:
    """List the document's problems."""
    return workspace.problems()


@handles("export", ExportRequest)
def export(workspace: Workspace, request: Request, params: ExportRequest) -> Exported | None:
    """The document in another form."""
    with workspace.lock:
        document, title, path = workspace.store.document, workspace.store.title, workspace.store.file
    if not is_file(params.to):
        return export_document(document, params.to, title, path)
    if params.to == "report":
        _report(workspace, request, document, title)
        return None
    result, content = export_file(document, params.to, title)
    request.answer(result, [content])
    return None


def _report(workspace: Workspace, request: Request, document: Document, title: str) -> None:
    """Answer with the report, from the thread of previews, whose results it shows."""
    with workspace.lock:
        found, seed = workspace.store.checked(), workspace.store.seed

    def work() -> None:
        try:
            shown = shown_nodes(found.runnable, seed, workspace.evaluator, workspace.renderer)
            result, content = export_file(document, "report", title, {"title": title, "shown": shown})
        except Exception as error:  # a request must always be answered
            request.fail(error)
        else:
            request.answer(result, [content])

    workspace.jobs.put(work)


@handles("allow", AllowRequest)
def allow(workspace: Workspace, request: Request, params: AllowRequest) -> None:
    """Ask for a permission, or give it by the number that the person agreed with; the session goes on meanwhile."""
    permission, consents = params.permission, request.port.consents
    text = question(permission)
    code = digest("permission", permission.what, permission.name, text)
    reason: str | None = "nobody has agreed to that yet"
    if params.consent is not None:
        reason = consents.use(params.consent, code, f"{permission.what} {permission.name}")
    if reason is not None:
        raise DocumentError(f"Not allowed: {reason}.", "consent", consent=Consent(consents.ask(code), text))

    def work() -> None:
        try:
            workspace.allow(permission)
        except Exception as error:  # a request must always be answered
            request.fail(error)
        else:
            request.answer(workspace.problems())

    threading.Thread(target=work, name="dali-lab-allowing", daemon=True).start()
