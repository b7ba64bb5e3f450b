"""The dataset view of a reader: its samples in pages, with thumbnails; and the distribution of a node's numbers."""

from __future__ import annotations

from typing import Literal

from dali_lab.studio.protocol.values import PictureRef, SessionError, Value, Wire


class DatasetRequest(Wire):
    """A page of the samples of a reader that answer to the filters.

    `text` is looked for in names; `label` and sizes of files in bytes are exact; `damaged` keeps the samples that
    cannot be read, or that the last check has found damaged. With `thumb` 0 there are no pictures.
    """

    node: str
    text: str = ""
    label: int | None = None
    damaged: bool = False
    smallest: int | None = None
    largest: int | None = None
    sort: Literal["list", "name", "label", "bytes", "pixels"] = "list"
    descending: bool = False
    first: int = 0
    count: int = 60
    thumb: int = 96


class DatasetLabel(Wire):
    """A label, its name if its folder tells, and its number of samples."""

    label: int
    name: str | None
    count: int


class DatasetSample(Wire):
    """A sample, by its place in the reader's list; sizes are there once its file was looked at."""

    place: int
    name: str
    label: int | None = None
    label_name: str | None = None
    bytes: int | None = None
    width: int | None = None
    height: int | None = None
    problem: str | None = None
    image: PictureRef | None = None


class DatasetPage(Wire):
    """A page: `size` samples in all, `matching` of them answer, and files of `looked` were looked at so far.

    `looking` says that the rest are being looked at, so that the same request may soon have another answer.
    """

    size: int
    matching: int
    first: int
    samples: list[DatasetSample]
    labels: list[DatasetLabel]
    looked: int
    looking: bool
    damaged: int


class DistributionRequest(Wire):
    """The numbers of a node over many samples; `distribution.progress` and `distribution.done` follow."""

    run: int
    node: str
    output: int = 0
    samples: int = 1000


class DistributionProgress(Wire):
    """Samples done."""

    run: int
    done: int
    total: int


class Chart(Wire):
    """Numbers of one kind: counts in equal bins from `low` to `high`, or of `values` where there are few.

    `low` and `high` are the smallest and largest; a batch without numbers of this kind has no chart.
    """

    name: str
    unit: str
    counts: list[int]
    low: Value
    high: Value
    mean: Value
    deviation: Value
    values: list[str] | None = None


class DistributionDone(Wire):
    """The charts, and how many samples failed."""

    run: int
    status: Literal["done", "cancelled", "failed"]
    samples: int = 0
    failed: int = 0
    charts: list[Chart] | None = None
    error: SessionError | None = None
