"""Previews, real runs, sweeps of an argument and comparisons."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dali_lab.studio.protocol.documents import Document
from dali_lab.studio.protocol.values import NodeFailure, PictureRef, SessionError, Value, Wire


class Tap(Wire):
    """An output of a node."""

    node: str
    output: int = 0


class PreviewRequest(Wire):
    """Show the outputs of every node; replaces the client's preview before it.

    Sizes are the longer side in device pixels; the outputs in `focus` also come in `focus_size`. `pins` are places in
    the list of the readers with `pinned_of` samples, which make up the batch in place of those that come in turn.
    """

    run: int
    revision: int = 0
    iteration: int = 0
    samples: int = 4
    thumb: int = 96
    focus: tuple[Tap, ...] = ()
    focus_size: int = 512
    pins: tuple[int, ...] | None = None
    pinned_of: int = 0


class RunStarted(Wire):
    """The number that the client chose, and that its events carry."""

    run: int


class PreviewStarted(Wire):
    """A preview begins."""

    run: int
    nodes: int


class PreviewProgress(Wire):
    """Progress of a preview that takes over half a second."""

    run: int
    done: int
    total: int
    node: str


class OutputPreview(Wire):
    """An output for the samples sent: their shapes, pictures, and values as text or numbers where they are none.

    `batch` counts all samples; `histogram` has 32 counts over `range`. Samples that failed have an empty shape and no
    picture; `lost` says why. Lists that would be empty are left out.
    """

    kind: Annotated[
        str, Meta(extra={"typescript": "'image' | 'mask' | 'tensor' | 'text' | 'audio' | 'encoded' | 'boxes'"})
    ]
    dtype: str
    layout: str
    shapes: list[list[int]]
    batch: int
    uniform: bool
    range: tuple[Value, Value] | None
    histogram: list[int] | None
    images: list[PictureRef | None]
    values: list[str | None] | None = None
    numbers: list[Annotated[list[Value], Meta(extra={"typescript": "number[]"})] | None] | None = None
    labels: list[str | None] | None = None
    files: list[str | None] | None = None
    lost: list[str | None] | None = None


class Skipped(Wire):
    """Why a node was not computed: it waits for another one, or is off."""

    message: str
    node: str | None = None
    off: bool = False


class NodeEvent(Wire):
    """Outputs or failure of a node."""

    run: int
    node: str
    time_ms: float | None
    cached: bool
    outputs: list[OutputPreview]
    error: NodeFailure | None = None
    skipped: Skipped | None = None


class PreviewUnchanged(Wire):
    """Nodes whose results the client has already, with their times."""

    run: int
    nodes: dict[str, float | None]


class ShapesOverlay(Wire):
    """Boxes or points over the pictures of an output, from 0 to 1."""

    kind: Annotated[str, Meta(extra={"typescript": "'boxes' | 'points'"})]
    node: str
    output: int
    items: list[list[list[float]] | None]


class MaskOverlay(Wire):
    """Class numbers in colours over the pictures of an output."""

    kind: Literal["mask"]
    node: str
    output: int
    images: list[PictureRef | None]


class FocusEvent(Wire):
    """An output in focus, in a larger size."""

    run: int
    node: str
    output: int
    images: list[PictureRef | None]
    unchanged: bool = False
    overlays: list[ShapesOverlay | MaskOverlay] | None = None


class DoneEvent(Wire):
    """A preview has ended."""

    run: int
    status: Annotated[str, Meta(extra={"typescript": "'done' | 'cancelled' | 'superseded' | 'failed'"})]
    total_ms: float
    seed: int
    iteration: int
    error: SessionError | None = None


class CancelRequest(Wire):
    """Stop a preview, a run, a sweep or a traced program."""

    run: int = -1


class RunRequest(Wire):
    """Run the pipeline as training would: some batches here, or an epoch on the cluster of the capabilities."""

    run: int
    batches: int = 20
    on_cluster: bool = False


class RunProgress(Wire):
    """A run goes on."""

    run: int
    done: int
    total: int
    images_per_second: float


class NodeRun(Wire):
    """A node in a run: times in a batch, the second on the GPU, and the bytes of its results there."""

    time_ms: float
    images_per_second: float
    gpu_time_ms: float | None = None
    gpu_memory: int | None = None


class GpuMemory(Wire):
    """Bytes; `table` says how large each result is and how long it is kept."""

    in_use: int
    held: int
    peak: int
    free: int
    total: int
    table: str


class Transfer(Wire, rename={"source": "from"}):
    """A result that was copied, with the bytes of the largest batch."""

    source: str
    to: Annotated[str, Meta(extra={"typescript": "'gpu' | 'cpu'"})]
    bytes: int


class GpuUse(Wire):
    """Memory and transfers of a run on the GPU."""

    memory: GpuMemory
    transfers: list[Transfer]


class Measured(Wire):
    """Speed of a pipeline, as a whole and of each node."""

    batches: int
    samples: int
    seconds: float
    images_per_second: float
    nodes: dict[str, NodeRun]
    gpu: GpuUse | None = None


class RunDone(Measured, kw_only=True):
    """A run has ended; `missing` says in sentences which outputs of the pipeline are off, `summary` what it was."""

    run: int
    status: Literal["done", "cancelled", "failed"]
    missing: list[str] | None = None
    summary: str | None = None
    error: SessionError | None = None


class SweepRequest(Wire):
    """One sample at one node, with an argument set to each of several values, and others to those in `also`.

    The picture is that of the node, or of the node `shown`. The samples are those of a `PreviewRequest`, pinned ones
    among them, here and in the next requests.
    """

    node: str
    argument: str
    values: list[Value]
    also: dict[str, Value] | None = None
    shown: str | None = None
    run: int | None = None
    sample: int = 0
    thumb: int = 160
    output: int = 0
    iteration: int = 0
    pins: tuple[int, ...] | None = None
    pinned_of: int = 0


class Swept(Wire):
    """A picture or an error for each value."""

    images: list[PictureRef | None]
    errors: list[str | None]


class PlayRequest(Wire):
    """One sample to play: every frame of a clip, every slice of a volume, or a sound."""

    node: str
    output: int = 0
    run: int | None = None
    sample: int = 0
    iteration: int = 0
    pins: tuple[int, ...] | None = None
    pinned_of: int = 0
    size: int = 512


class Played(Wire):
    """Frames or slices in order; of a sound its waveform and spectrogram, with the number of its buffer.

    A sound is a WAV file of so many `seconds`, with frequencies up to `highest` in hertz.
    """

    images: list[PictureRef | None]
    sound: int | None = None
    seconds: float = 0.0
    highest: float = 0.0


class CompareRequest(Wire):
    """The same samples through another document."""

    document: Document
    nodes: list[Tap]
    run: int | None = None
    samples: int = 4
    size: int = 512
    iteration: int = 0
    pins: tuple[int, ...] | None = None
    pinned_of: int = 0


class ComparedTap(Wire):
    """The pictures of one output."""

    node: str
    output: int
    images: list[PictureRef | None]


class Compared(Wire):
    """The pictures of all outputs asked for."""

    results: list[ComparedTap]
