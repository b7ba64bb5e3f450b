"""What is computed: previews, real runs, sweeps of an argument and comparisons, and how they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dali_lab.executor.failures import Cancelled
from dali_lab.studio import running
from dali_lab.studio.document.graph_document import DocumentError, checked
from dali_lab.studio.document.validation import check
from dali_lab.studio.preview.delivery import PreviewRequest, run_preview
from dali_lab.studio.preview.results import Token
from dali_lab.studio.requests.request import Request

if TYPE_CHECKING:
    from dali_lab.studio.session import Session

Json = dict[str, Any]
Answer = tuple[Json, list[bytes]]


def preview(session: Session, request: Request) -> None:
    """Show what every node gives; takes the place of the preview that this editor waits for."""
    asked, editor = PreviewRequest.read(request.params), request.editor
    token = editor.begin_preview(asked.run)
    session.stop_warming()
    with session.lock:
        found, seed = session.store.checked(), session.store.seed

    def work() -> None:
        try:
            run_preview(asked, found, seed, session.evaluator, session.renderer, editor.delivered, token, request.tell)
        finally:
            editor.end(asked.run)

    request.answer({"run": asked.run})
    session.jobs.put(work)


def cancel(session: Session, request: Request) -> Json:
    """Stop something that this editor asked for."""
    request.editor.cancel(int(request.params.get("run", -1)))
    return {}


def run(session: Session, request: Request) -> None:
    """Run the pipeline as training would; one such run at a time."""
    number = int(request.params["run"])
    if session.running:
        raise DocumentError("A run is going on already; stop it first.", "busy")
    with session.lock:
        found, seed = session.store.checked(), session.store.seed
    token = Token()
    request.editor.begin(number, token)

    def tell(event: str, params: Json) -> None:
        if not request.port.open:
            token.cancel()
        request.tell(event, params)

    def work() -> None:
        try:
            running.run_events(found, seed, request.params, token, tell)
        finally:
            request.editor.end(number)

    request.answer({"run": number})
    session.start_run(work)


def sweep(session: Session, request: Request) -> None:
    """One argument at several values."""
    with session.lock:
        document, seed = session.store.document, session.store.seed
    params, iteration = request.params, max(0, int(request.params.get("iteration", 0)))
    _answer_later(
        session,
        request,
        lambda token: running.sweep(
            session.store, document, seed, iteration, params, session.evaluator, session.renderer, token
        ),
    )


def compare(session: Session, request: Request) -> None:
    """The same samples through another document."""
    document = checked(request.params.get("document"))
    seed = session.store.seed_of(document)
    _answer_later(
        session,
        request,
        lambda token: running.compare(
            check(document, session.store.objects),
            seed,
            request.params,
            session.evaluator,
            session.renderer,
            token,
        ),
    )


def _answer_later(session: Session, request: Request, function: Callable[[Token], Answer]) -> None:
    """Answer from the thread of previews: it takes long, and can be cancelled."""
    token = Token()
    number = int(request.params["run"]) if "run" in request.params else -id(token)
    request.editor.begin(number, token)

    def work() -> None:
        try:
            result, buffers = function(token)
        except Cancelled:
            request.fail(DocumentError("Stopped.", "failed"))
        except Exception as error:  # a request must always be answered
            request.fail(error)
        else:
            request.answer(result, buffers)
        finally:
            request.editor.end(number)

    session.jobs.put(work)
