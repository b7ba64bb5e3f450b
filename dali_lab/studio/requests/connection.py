"""Requests by which an editor connects, reconnects, and learns of capabilities."""

from __future__ import annotations

from dali_lab import __version__
from dali_lab.model.system import usable_cores
from dali_lab.studio import catalogue as operators
from dali_lab.studio.cluster import cluster_address
from dali_lab.studio.connections import Request
from dali_lab.studio.document.exports import available
from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.document.store import UNTITLED
from dali_lab.studio.permissions import absolute
from dali_lab.studio.protocol.catalogue import CatalogueData
from dali_lab.studio.protocol.connections import (
    Capabilities,
    Empty,
    Hello,
    HelloRequest,
    RestoreRequest,
    SelectRequest,
    Waiting,
)
from dali_lab.studio.protocol.values import VERSION
from dali_lab.studio.requests.table import handles
from dali_lab.studio.workspace import Workspace


@handles("hello", HelloRequest)
def hello(workspace: Workspace, request: Request, params: HelloRequest) -> Hello:
    """Answer an editor that connects and has no pictures yet."""
    editor = request.editor
    editor.delivered.clear()
    if not editor.name:
        editor.name = params.client or ""
    workspace.look_for_problems()
    for notice in workspace.notices:
        request.port.tell(notice)
    workspace.notices = []
    return _greeting(workspace)


@handles("restore", RestoreRequest)
def restore(workspace: Workspace, request: Request, params: RestoreRequest) -> Hello:
    """Take over the document of an editor whose session is gone."""
    document, store = checked(params.document), workspace.store
    path = absolute(str(params.file["path"]), store.root) if params.file and params.file.get("path") else None
    with workspace.lock:
        title = (store.title or UNTITLED) if path is None else path.name
        store.replace(document, title=title, file=path, dirty=params.dirty)
        workspace.document_replaced(besides=request.port)
    return _greeting(workspace)


@handles("catalogue", Empty)
def catalogue(workspace: Workspace, request: Request, params: Empty) -> CatalogueData:
    """The operators."""
    return operators.catalogue(workspace.documentation)


@handles("select", SelectRequest)
def select(workspace: Workspace, request: Request, params: SelectRequest) -> Empty:
    """Pass the selection on to the host."""
    if workspace.on_select is not None:
        workspace.on_select(list(params.nodes))
    return Empty()


@handles("ping", Empty)
def ping(workspace: Workspace, request: Request, params: Empty) -> Waiting:
    """Confirm that the session is alive, and list the editor's pending requests."""
    return Waiting(sorted(request.editor.waiting - {str(request.id)}))


def _greeting(workspace: Workspace) -> Hello:
    with workspace.lock:
        opened, read_only = workspace.store.opened(), workspace.store.read_only
    capabilities = Capabilities(
        preview=True, run=True, check=True, validate=True, sweep=True, compare=True, dataset=True, probe=True,
        open=True, save=True, list_files=True, gallery_page=True, cluster=cluster_address(),
        select=workspace.on_select is not None,
        samples=[sample.entry() for sample in workspace.samples.values()],
        gallery=[sample.entry() for sample in workspace.gallery_samples.values()],
        export=available(),
        export_files=available(files=True),
    )  # fmt: skip
    return Hello(
        opened.document,
        opened.revision,
        opened.title,
        opened.file,
        opened.dirty,
        opened.seed,
        protocol=VERSION,
        session=workspace.id,
        version=__version__,
        read_only=read_only,
        device=device_text(),
        capabilities=capabilities,
    )


def device_text() -> str:
    """The device of previews, in words."""
    cores = usable_cores()
    return f"CPU, {cores} core{'' if cores == 1 else 's'}"
