"""Programs: their pipelines listed, and one traced in a process of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from dali_lab.studio.document import programs
from dali_lab.studio.document.graph_files import title_of
from dali_lab.studio.document.store import UNTITLED
from dali_lab.studio.requests.request import Request

if TYPE_CHECKING:
    from dali_lab.studio.session import Session

Json = dict[str, Any]


def list_pipelines(session: Session, request: Request) -> Json:
    """The pipelines of a program; nothing is run."""
    return programs.listed(_program(session, request.params))


def trace(session: Session, request: Request) -> None:
    """Run a program for its graph, and open that; the session answers others meanwhile."""
    run, program = int(request.params["run"]), _program(session, request.params)
    token = programs.Cancellation()
    request.editor.begin(run, token)

    def work() -> None:
        try:
            document = programs.traced(program, request.params, token)
        except Exception as error:  # a request must always be answered
            failure = error
            session.do(lambda: request.fail(failure))
        else:
            session.do(lambda: take(document))
        finally:
            request.editor.end(run)

    def take(document: Json) -> None:
        with session.lock:
            session.store.replace(document, title=title_of(program.name) or UNTITLED, dirty=True)
            result = session.opened(request.port)
        request.answer(result)

    threading.Thread(target=work, name="dali-lab-trace", daemon=True).start()


def _program(session: Session, params: Json) -> programs.Program:
    if params.get("path") is not None:
        return programs.Program.of_file(session.store.resolve(params["path"]))
    return programs.Program(str(params.get("text") or ""), str(params.get("name") or ""))
