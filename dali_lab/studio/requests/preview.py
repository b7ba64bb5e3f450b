"""Requests for previews, real runs, sweeps, comparisons and the gallery's pictures, and to cancel them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dali_lab.executor.failures import Cancelled
from dali_lab.studio import checking, distributions, running
from dali_lab.studio.caching import measure_gain
from dali_lab.studio.connections import Request
from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.preview.delivery import Delivery
from dali_lab.studio.preview.playing import played
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.caches import CacheDone, CacheRequest
from dali_lab.studio.protocol.checks import CheckDone, CheckRequest
from dali_lab.studio.protocol.connections import Empty
from dali_lab.studio.protocol.datasets import DatasetRequest, DistributionDone, DistributionRequest
from dali_lab.studio.protocol.methods import METHODS
from dali_lab.studio.protocol.previews import (
    CancelRequest,
    CompareRequest,
    PlayRequest,
    PreviewRequest,
    RunRequest,
    RunStarted,
    SweepRequest,
)
from dali_lab.studio.protocol.probes import ProbeDone, ProbeRequest
from dali_lab.studio.protocol.values import SessionError, Wire
from dali_lab.studio.requests.table import handles
from dali_lab.studio.work import Work
from dali_lab.studio.workspace import Workspace


@handles("preview", PreviewRequest)
def preview(workspace: Workspace, request: Request, params: PreviewRequest) -> None:
    """Show the outputs of every node; replaces the editor's running preview."""
    editor = request.editor
    token = editor.begin_preview(params.run)
    workspace.stop_warming()
    with workspace.lock:
        found, seed = workspace.store.checked(), workspace.store.seed

    def work() -> None:
        try:
            Delivery(params, found, workspace.renderer, editor.delivered, token, request.port.tell).run(
                workspace.evaluator, seed
            )
        finally:
            editor.end(params.run)

    request.answer(RunStarted(params.run))
    workspace.jobs.put(work)


@handles("cancel", CancelRequest)
def cancel(workspace: Workspace, request: Request, params: CancelRequest) -> Empty:
    """Cancel a piece of this editor's work."""
    request.editor.cancel(params.run)
    return Empty()


@handles("run", RunRequest)
def run(workspace: Workspace, request: Request, params: RunRequest) -> None:
    """Run the pipeline as training would; one such run at a time."""
    _alone(workspace, request, params, running.run_pipeline, running.without_results)


@handles("check", CheckRequest)
def check(workspace: Workspace, request: Request, params: CheckRequest) -> None:
    """Check the dataset that the graph reads; no run goes on meanwhile."""

    def checked_dataset(work: Work, params: CheckRequest) -> CheckDone:
        done = checking.check_dataset(work, params)
        workspace.datasets.note_check(done)
        return done

    _alone(workspace, request, params, checked_dataset, CheckDone)


@handles("cache", CacheRequest)
def cache(workspace: Workspace, request: Request, params: CacheRequest) -> None:
    """Measure what a cache of the work that never changes would give; no run goes on meanwhile."""
    _alone(workspace, request, params, measure_gain, CacheDone)


@handles("dataset", DatasetRequest)
def dataset(workspace: Workspace, request: Request, params: DatasetRequest) -> None:
    """A page of the samples of a reader."""
    with workspace.lock:
        found = workspace.store.checked()
    workspace.datasets.ask(request, found, params)


@handles("distribution", DistributionRequest)
def distribution(workspace: Workspace, request: Request, params: DistributionRequest) -> None:
    """The numbers of a node over many samples; no run goes on meanwhile."""
    _alone(workspace, request, params, distributions.distribution, DistributionDone)


@handles("probe", ProbeRequest)
def probe(workspace: Workspace, request: Request, params: ProbeRequest) -> None:
    """Train a small network with and without augmentations; no run goes on meanwhile."""
    from dali_lab.studio.probing.events import run_probe

    _alone(workspace, request, params, run_probe, ProbeDone)


L = TypeVar("L", RunRequest, CheckRequest, CacheRequest, DistributionRequest, ProbeRequest)


def _alone(
    workspace: Workspace,
    request: Request,
    params: L,
    function: Callable[[Work, L], Wire],
    ended: Callable[..., Wire],
) -> None:
    """Begin long work on the graph, of which there is one piece at a time; its last event is made by `ended`."""
    if workspace.running:
        raise DocumentError("A run, a check or another measurement is going on already; stop it first.", "busy")
    with workspace.lock:
        found, seed = workspace.store.checked(), workspace.store.seed
    token = Token()
    request.editor.begin(params.run, token)

    def tell(event: Wire) -> None:
        if not request.port.open:
            token.cancel()
        request.port.tell(event)

    def work() -> None:
        try:
            done = function(Work(found, workspace.store.permissions.roots, seed, token, tell), params)
        except Cancelled:
            done = ended(run=params.run, status="cancelled")
        except Exception as error:  # the client would wait for the end otherwise
            done = ended(run=params.run, status="failed", error=SessionError.of(error))
        finally:
            request.editor.end(params.run)
            workspace.end_run(token)
        request.port.tell(done)

    request.answer(RunStarted(params.run))
    workspace.start_run(token, work)


@handles("sweep", SweepRequest)
def sweep(workspace: Workspace, request: Request, params: SweepRequest) -> None:
    """One argument at several values."""
    with workspace.lock:
        document, seed = workspace.store.document, workspace.store.seed
    pictures = running.Pictures(workspace.evaluator, workspace.renderer, workspace.store.permissions)
    _answer_later(workspace, request, params.run, lambda token: pictures.sweep(document, seed, params, token))


@handles("play", PlayRequest)
def play(workspace: Workspace, request: Request, params: PlayRequest) -> None:
    """All frames or slices of a sample, or its sound."""
    with workspace.lock:
        found, seed = workspace.store.checked(), workspace.store.seed
    _answer_later(workspace, request, params.run, lambda token: played(workspace.evaluator, found, seed, params, token))


@handles("compare", CompareRequest)
def compare(workspace: Workspace, request: Request, params: CompareRequest) -> None:
    """The same samples through another document."""
    document = checked(params.document)
    seed = workspace.store.seed_of(document)
    pictures = running.Pictures(workspace.evaluator, workspace.renderer, workspace.store.permissions)
    _answer_later(workspace, request, params.run, lambda token: pictures.compare(document, seed, params, token))


def _answer_later(
    workspace: Workspace, request: Request, run: int | None, function: Callable[[Token], tuple[Wire, list[bytes]]]
) -> None:
    """Answer from the thread of previews, since the work takes long and can be cancelled."""
    token = Token()
    number = -id(token) if run is None else run
    request.editor.begin(number, token)

    def work() -> None:
        request.answer_by(lambda: function(token))
        request.editor.end(number)

    workspace.jobs.put(work)


def _ask_gallery(method: str, params: type[Wire]) -> None:
    """The gallery answers on a thread of its own."""

    @handles(method, params)
    def ask(workspace: Workspace, request: Request, given: Wire) -> None:
        workspace.gallery_page.ask(request, method, given)


for _method, _declared in METHODS.items():
    if _method.startswith("gallery."):
        _ask_gallery(_method, _declared.params)
