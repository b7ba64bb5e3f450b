"""Requests that list a program's pipelines, and trace one in a process of its own."""

from __future__ import annotations

import threading

from dali_lab.studio.connections import Request
from dali_lab.studio.document import programs
from dali_lab.studio.document.graph_files import title_of
from dali_lab.studio.document.store import UNTITLED
from dali_lab.studio.protocol.documents import Document, ListPipelinesRequest, ProgramListing, TraceRequest
from dali_lab.studio.requests.table import handles
from dali_lab.studio.workspace import Workspace


@handles("list_pipelines", ListPipelinesRequest)
def list_pipelines(workspace: Workspace, request: Request, params: ListPipelinesRequest) -> ProgramListing:
    """The pipelines of a program; nothing is run."""
    return programs.listed(_program(workspace, params))


@handles("trace", TraceRequest)
def trace(workspace: Workspace, request: Request, params: TraceRequest) -> None:
    """Run a program that the person agreed to for its graph, and open that; the session answers others meanwhile."""
    program = _program(workspace, params)
    programs.require_consent(program, request.port.consents, params.consent)
    token = programs.Cancellation()
    request.editor.begin(params.run, token)

    def work() -> None:
        try:
            document = programs.traced(program, params, token)
        except Exception as error:  # a request must always be answered
            failure = error
            workspace.do(lambda: request.fail(failure))
        else:
            workspace.do(lambda: take(document))
        finally:
            request.editor.end(params.run)

    def take(document: Document) -> None:
        with workspace.lock:
            workspace.store.replace(document, title=title_of(program.name) or UNTITLED, dirty=True)
            result = workspace.opened(request.port)
        request.answer(result)

    threading.Thread(target=work, name="dali-lab-trace", daemon=True).start()


def _program(workspace: Workspace, params: ListPipelinesRequest | TraceRequest) -> programs.Program:
    if params.path is not None:
        store = workspace.store
        path = store.resolve(params.path)
        return programs.Program.of_file(path, store.permissions.root(path))
    return programs.Program(params.text or "", params.name or "")
