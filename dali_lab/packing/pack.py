"""Packs the dataset of a graph: computes its samples in order, and writes them shard by shard."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.device.transfer import download
from dali_lab.executor.bad_samples import BadSample
from dali_lab.formats import dump
from dali_lab.formats.disk import write_bytes
from dali_lab.graph.graph import Graph, require_graph
from dali_lab.graph.verification import verify
from dali_lab.io.locations import is_remote
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, DALIDataType
from dali_lab.model.errors import ArgumentError, FormatError, GraphError, nearest
from dali_lab.model.system import usable_cores
from dali_lab.operators.readers.list_reader import ListSource, list_sources
from dali_lab.packing.components import Component
from dali_lab.packing.graphs import asked_size, cut
from dali_lab.packing.shards import FORMS, ShardWriter, shard_path
from dali_lab.pipeline.pipeline import Pipeline

_FORMAT = "dali-lab-pack/1"
_NOTES = "pack.json"
GRAPH = "graph.dali.json"
"""The graph that reads the shards, in their folder."""
_SEED = 0x9AC
_QUALITY = 95

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Written:
    """A shard that was written.

    Attributes
    ----------
    number
        Its number, from 0.
    samples, nbytes
        In it.
    components
        Of its samples; none where no sample was good.
    bad
        Samples that were left out, in sentences.
    """

    number: int
    samples: int
    nbytes: int
    components: tuple[Component, ...]
    bad: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The same as values of JSON."""
        components = [{**asdict(each), "dtype": each.dtype.name} for each in self.components]
        return {**asdict(self), "components": components}

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Written:
        """The shard that :meth:`plain` gave the values of."""
        components = tuple(Component(**{**each, "dtype": DALIDataType[each["dtype"]]}) for each in found["components"])
        return cls(found["number"], found["samples"], found["nbytes"], components, tuple(found["bad"]))


@dataclass(frozen=True)
class Report:
    """A packed dataset.

    Attributes
    ----------
    folder
        Where the shards are.
    graph
        The file of the graph that reads them.
    samples, nbytes, shards
        In all.
    seconds, rate
        Time that this run took, and its samples a second.
    bad
        Samples that were left out, in sentences.
    """

    folder: Path
    graph: Path
    samples: int
    nbytes: int
    shards: int
    seconds: float
    rate: float
    bad: tuple[str, ...] = ()


@dataclass
class Packing:
    """Packs the samples of a graph into shards in a folder.

    Parameters
    ----------
    graph
        A graph with a reader of a list of samples.
    folder
        Where the shards go: an empty folder, or one with the beginning of the same packing, which goes on.
    at
        The node whose outputs are packed, with all that the nodes behind it take from before it; by default the
        reader, whose files are packed as they are. Nothing before it may differ between epochs.
    form
        ``"webdataset"`` (tar archives) or ``"tfrecord"``, with indexes.
    small
        Pictures are decoded, made smaller until their shorter side has so many pixels, and encoded as JPEG again: no
        longer exact. 0 takes the largest size that the graph resizes or crops to. With `at` the reader alone.
    samples
        Samples in a shard, about.
    order
        ``"shuffled"``: mixed, always in the same way, since readers of shards mix samples within a buffer alone;
        ``"list"``: in the order of the reader's list. By default shuffled where the reader's ``random_shuffle`` is set.
    on_error
        ``"raise"`` ends at the first bad sample, ``"skip"`` leaves bad samples out.
    batch_size, threads
        Instead of those in the graph; as many threads as cores by default.

    Raises
    ------
    GraphError
        If there is no reader, or what is to be packed differs between epochs.
    ArgumentError
        If an argument is wrong.
    FormatError
        If the folder holds something else.
    """

    graph: Graph
    folder: Path
    at: str | None = None
    form: str = "webdataset"
    small: int | None = None
    samples: int = 1024
    order: str | None = None
    on_error: str = "raise"
    batch_size: int | None = None
    threads: int | None = None
    done: list[Written] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ArgumentError(f"must be one of {', '.join(FORMS)}{nearest(self.form, FORMS)}", argument="form")
        if self.order not in (None, "shuffled", "list"):
            raise ArgumentError("must be 'shuffled' or 'list'", argument="order")
        if self.on_error not in ("raise", "skip"):
            raise ArgumentError("must be 'raise' or 'skip'", argument="on_error")
        if self.samples < 1:
            raise ArgumentError("must be at least 1", argument="samples")
        if self.small == 0:
            self.small = asked_size(self.graph)
            if self.small is None:
                raise GraphError("the graph does not tell how large pictures must be: give a number of pixels")
        verify(self.graph)
        self.folder = Path(self.folder)
        self._cut = cut(self.graph, self.at, self.small)
        wanted = self.batch_size or self.graph.pipeline.get("batch_size")
        self._batch = min(wanted if isinstance(wanted, int) and wanted > 0 else 64, self.samples)
        self._pipeline: Pipeline | None = None
        sources = self._sources()
        sizes = {name: source.meta()["epoch_size"] for name, source in sources.items()}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"'{name}' has {size:,}" for name, size in sizes.items())
            raise GraphError(f"readers with different numbers of samples cannot be packed together: {counts}")
        self.total = next(iter(sizes.values()))
        shuffled = self._cut.shuffled if self.order is None else self.order == "shuffled"
        places = np.arange(self.total, dtype=np.int64)
        self._places = np.random.default_rng(_SEED).permutation(places) if shuffled else places
        self.shards = -(-self.total // self.samples)
        self._mark = self._marked(sources)

    # -- what is done -------------------------------------------------------------------------------------------

    def _marked(self, sources: dict[str, ListSource]) -> str:
        """A digest of all that the content of the shards depends on, but the content of files."""
        nodes = self._cut.computing.nodes.values()
        described = [
            (node.id, node.op, sorted(map(str, node.arguments.items())), [str(edge) for edge in node.edges()])
            for node in nodes
        ]
        found = hashlib.sha256(repr((described, self._cut.computing.outputs, self.form, self.samples)).encode())
        for source in sources.values():
            for name in source.names(self._places):
                found.update(name.encode("utf-8", "surrogateescape") + b"\0")
        return found.hexdigest()[:32]

    def open(self, *, anew: bool = False) -> None:
        """Make the folder ready; what an earlier run has finished there is kept, unless it begins `anew`."""
        os.makedirs(self.folder, exist_ok=True)
        notes = self.folder / _NOTES
        found = self._read_notes(notes)
        if found is None and any(self.folder.iterdir()):
            raise FormatError("the folder holds other files: choose one that is empty", source=str(self.folder))
        if found is not None and (anew or found.get("mark") != self._mark):
            if not anew:
                raise FormatError(
                    "the folder holds another packed dataset: choose another one, or begin anew",
                    source=str(self.folder),
                )
            for path in self.folder.glob("shard-*"):
                path.unlink()
            found = None
        for path in self.folder.glob(".shard-*.part"):
            path.unlink()
        try:
            known = [] if found is None else [Written.of(each) for each in found["shards"]]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise FormatError("it is no record of a packed dataset", source=str(notes)) from None
        self.done = [each for each in known if shard_path(self.folder, each.number, self.form).exists()]
        self._write_notes()

    @staticmethod
    def _read_notes(path: Path) -> dict[str, Any] | None:
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise FormatError("it is no record of a packed dataset", source=str(path))
        return found

    def _write_notes(self) -> None:
        shards = [each.plain() for each in self.done]
        content = {"format": _FORMAT, "mark": self._mark, "samples": self.total, "shards": shards}
        write_bytes(self.folder / _NOTES, json.dumps(content, indent=1).encode())

    @property
    def todo(self) -> list[int]:
        """Shards that are not there yet."""
        there = {each.number for each in self.done}
        return [number for number in range(self.shards) if number not in there]

    # -- computing ----------------------------------------------------------------------------------------------

    def _sources(self) -> dict[str, ListSource]:
        if self._pipeline is None:
            settings: dict[str, Any] = {"batch_size": self._batch, "num_threads": self.threads or usable_cores()}
            if self.on_error == "skip":
                settings |= {"on_error": "skip", "max_error_rate": 1.0}
            self._pipeline = Pipeline.from_graph(self._cut.computing, **{**settings, "cache": "off"})
            self._pipeline.build()
        return list_sources(self._pipeline._built().sources)

    def close(self) -> None:
        """End all work."""
        if self._pipeline is not None:
            self._pipeline.close()
            self._pipeline = None

    def shard_places(self, number: int) -> Places:
        """Places in the reader's list of the samples of a shard."""
        return self._places[number * self.samples : (number + 1) * self.samples]

    def write(self, shards: Sequence[int], tell: Callable[[int], None] | None = None) -> Iterator[Written]:
        """Compute and write shards; a packing can do this once.

        Parameters
        ----------
        tell
            Called after each batch with the number of its samples.
        """
        padded = []
        for number in shards:
            places = self.shard_places(number)
            padded.append(np.resize(places, -(-len(places) // self._batch) * self._batch))
        sources = self._sources()
        for source in sources.values():
            source.follow(np.concatenate(padded) if padded else np.zeros(0, np.int64))
        with ThreadPoolExecutor(self.threads or usable_cores(), "dali-lab-pack") as pool:
            for number in shards:
                yield self._write_shard(number, pool, tell)

    def _write_shard(self, number: int, pool: ThreadPoolExecutor, tell: Callable[[int], None] | None) -> Written:
        assert self._pipeline is not None
        places = self.shard_places(number)
        path = shard_path(self.folder, number, self.form)
        writer = ShardWriter(path, self.form)
        bad: list[str] = []
        components: tuple[Component, ...] = ()
        try:
            for start in range(0, len(places), self._batch):
                count = min(self._batch, len(places) - start)
                rows, batches, lost = self._run(count)
                bad += [str(record) for record in lost]
                if rows:
                    found = self._components_of(batches)
                    if components and found != components:
                        raise GraphError(_DIFFERENT)
                    components = found
                for row, content in zip(rows, self._contents(components, batches, pool), strict=False):
                    if row < count:
                        writer.add(number * self.samples + start + row, content)
                if tell is not None:
                    tell(count)
            nbytes = writer.finish()
        except BaseException:
            writer.drop()
            raise
        return Written(number, writer.samples, nbytes, components, tuple(bad))

    def _run(self, count: int) -> tuple[list[int], list[Batch], list[BadSample]]:
        """The places in the batch of the next good samples, their batches on the edges, and bad samples."""
        assert self._pipeline is not None
        runner = self._pipeline._built()
        before = runner.bad_samples.total
        outputs = [output._batch for output in self._pipeline.run()]
        batches = [batch if batch.device is None else download(batch) for batch in outputs]
        new = runner.bad_samples.total - before
        lost = [record for record in list(runner.bad_samples.records)[-new:] if record.sample < count] if new else []
        left_out = set(runner.left_out)
        return [row for row in range(self._batch) if row not in left_out], batches, lost

    def _contents(
        self, components: Sequence[Component], batches: Sequence[Batch], pool: ThreadPoolExecutor
    ) -> Iterable[dict[Component, bytes]]:
        """The components of each sample of a batch."""
        columns = []
        for component, batch, picture in zip(components, batches, self._cut.pictures, strict=True):
            make = _encoded_picture if picture else component.content
            columns.append([(component, content) for content in pool.map(make, batch.arrays())])
        return map(dict, zip(*columns, strict=True))

    def _components_of(self, batches: Sequence[Batch]) -> tuple[Component, ...]:
        names, encoded = self._cut.names(), self._cut.encoded()
        return tuple(
            Component(name, self.form, UINT8, 1, "", True) if picture else Component.of(name, self.form, batch, bytes_)
            for name, batch, bytes_, picture in zip(names, batches, encoded, self._cut.pictures, strict=True)
        )

    # -- the whole ----------------------------------------------------------------------------------------------

    def run(self, tell: Callable[[int], None] | None = None, written: Iterable[Written] | None = None) -> Report:
        """Write the shards that are not there yet, and the graph that reads all.

        Parameters
        ----------
        tell
            Called after each batch with the number of its samples.
        written
            The shards as other machines write them, in place of :meth:`write`.
        """
        began = time.monotonic()
        packed = 0
        for shard in self.write(self.todo, tell) if written is None else written:
            self.done.append(shard)
            packed += len(self.shard_places(shard.number))
            self._write_notes()
        self.done.sort(key=lambda each: each.number)
        return self._finished(time.monotonic() - began, packed)

    def _finished(self, seconds: float, packed: int) -> Report:
        full = [each for each in self.done if each.samples]
        if not full:
            raise GraphError("nothing could be packed: no sample is good")
        components = full[0].components
        if any(each.components != components for each in full):
            raise GraphError(_DIFFERENT)
        path = self.folder / GRAPH
        dump(self._cut.reading(self.folder.resolve(), [each.number for each in full], components), path)
        return Report(
            self.folder,
            path,
            sum(each.samples for each in full),
            sum(each.nbytes for each in full),
            len(full),
            seconds,
            packed / seconds if seconds else 0.0,
            tuple(text for each in self.done for text in each.bad),
        )


_DIFFERENT = "samples differ in type, layout or number of dimensions, and those of a packed dataset must not"


def _encoded_picture(array: npt.NDArray[Any]) -> bytes:
    from dali_lab.codecs.encoding import encode_jpeg

    return encode_jpeg(array, _QUALITY)


def pack(graph: Graph, folder: str | os.PathLike[str], *, anew: bool = False, **options: Any) -> Report:
    """Pack the samples of a graph into shards in a folder.

    Parameters
    ----------
    graph
        A graph with a reader, such as ``Pipeline.graph``.
    folder
        Where the shards and ``graph.dali.json`` go, which reads them. Shards of an earlier call are kept.
    anew
        Remove what another packing has written there.
    **options
        As for :class:`Packing`.

    Raises
    ------
    ArgumentError
        If `folder` is a URL.
    """
    require_graph(graph)
    if is_remote(folder):
        raise ArgumentError("stores are not written to: name a folder of this machine", argument="folder")
    with closing(Packing(graph, Path(folder), **options)) as packing:
        packing.open(anew=anew)
        return packing.run()
