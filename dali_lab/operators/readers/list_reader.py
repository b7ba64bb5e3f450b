"""Base of readers of a list of samples: arguments, the order of samples, shards, saved states."""

from __future__ import annotations

import functools
import itertools
import threading
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.io.exclude_list import plain, read_exclude_list
from dali_lab.io.files import reason
from dali_lab.model.errors import ArgumentError, UnlikeSampleError, as_ours
from dali_lab.operators.readers.identities import Identities
from dali_lab.schema import Call, Operator, flag, integer, string
from dali_lab.schema.source import Draw, Source

if TYPE_CHECKING:
    from dali_lab.operators.readers.look_ahead import LookAhead, RemoteRows
    from dali_lab.operators.readers.order import ReaderOrder
    from dali_lab.operators.readers.rest_of_epoch import RestOfEpoch
    from dali_lab.operators.readers.unmatched import Unmatched

READER = (
    flag("random_shuffle", "Draw samples from a buffer of `initial_fill` samples.", important=True),
    integer("initial_fill", 1024, "Size of the buffer that `random_shuffle` draws from.", minimum=0),
    integer("num_shards", 1, "Number of parts that the data are cut into, one for each process.", minimum=1),
    integer("shard_id", 0, "The part to read, less than `num_shards`.", minimum=0),
    flag("stick_to_shard", "Read the same part in each epoch, rather than the next one."),
    flag("pad_last_batch", "Repeat the last sample to fill the last batch and to even out the parts."),
    flag("skip_cached_images", "Kept for programs that set it; decoded pictures are not cached.", advanced=True),
    flag("lazy_init", "Look for the data when the first batch is read.", advanced=True),
    flag("read_ahead", "Have archives and record files read as a whole when they are opened.", advanced=True),
    integer(
        "prefetch_queue_depth",
        1,
        "Kept for programs that set it; batches are read ahead anyway.",
        minimum=1,
        advanced=True,
    ),
    flag("dont_use_mmap", "Kept for programs that set it; files are read into memory.", advanced=True),
    integer("tensor_init_bytes", 1048576, "Kept for programs that set it.", advanced=True),
    string(
        "exclude_list",
        None,
        "Text file with the names of samples, or of files with samples, to leave out: ``dali-lab check`` writes it.",
        widget="path",
        advanced=True,
        beyond_dali=True,
    ),
)
"""Arguments of all readers."""

AFTER_EPOCH = (
    flag("shuffle_after_epoch", "Shuffle all samples anew in each epoch."),
    integer("shuffle_after_epoch_seed", None, "Seed of those shuffles, the same for all shards.", advanced=True),
)
"""Arguments of readers that can shuffle their list in each epoch."""

FILES_AFTER_EPOCH = (
    flag(
        "shuffle_after_epoch",
        "Shuffle the order of the files anew in each epoch; samples keep their order in them, so that reading goes"
        " straight on. It goes with `random_shuffle`.",
    ),
    AFTER_EPOCH[1],
)
"""Arguments of readers of files with many samples."""


class ListReader(Operator):
    """A reader that knows the list of its samples before it reads them.

    A subclass declares :data:`READER` among its arguments, and :data:`AFTER_EPOCH` if it may shuffle its list in each
    epoch, or :data:`FILES_AFTER_EPOCH` with :meth:`files_of` if the order of its files. `run` finds the places of its
    samples in the list in ``call.ticket``, for the whole batch.

    Attributes
    ----------
    shuffles_list
        Whether `random_shuffle` shuffles the list before it draws from the buffer; readers of record files do not.
    locating
        For a reader that `identifies`: its arguments that say where samples are, and nothing of what they hold.
    """

    source = True
    random = True
    shuffles_list: ClassVar[bool] = True
    locating: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        self._tolerant = False
        self._size = 0
        self._identities: Identities | None = None
        self._identities_lock = threading.Lock()
        super().__init__(values, connected, node, device)

    @abstractmethod
    def load(self) -> int:
        """Find the samples, and return their number; called once, before all other methods."""

    def opened(self) -> int:
        """Find the samples, and return their number."""
        self._size = self.load()
        return self._size

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """The files of samples, by their places in the list; empty where there are none."""
        return ()

    def files_of(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int] | None:
        """The number of the file of each sample, and how many files there are, where `shuffle_after_epoch` shuffles
        files; they follow each other in the list."""
        return None

    def sample_names(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Names that tell samples apart wherever they stand in the list, as in exclude lists."""
        return self.sources(rows)

    def labels(self) -> npt.NDArray[np.int64] | None:
        """The label of each sample in the list; `None` where samples have none that can be told without reading."""
        return None

    @functools.cached_property
    def excluded(self) -> frozenset[str]:
        """Names of samples, and of files with samples, that are left out; the list is read once."""
        path = self.value("exclude_list")
        if path is None:
            return frozenset()
        try:
            return read_exclude_list(path)
        except (OSError, ValueError) as error:
            raise self.fail(f"cannot read '{path}': {reason(error, path)}", "exclude_list") from error

    def excludes(self, name: str) -> bool:
        """Whether a sample or file of this name is left out."""
        return bool(self.excluded) and plain(name) in self.excluded

    def kept_places(self, size: int) -> npt.NDArray[np.int64] | None:
        """Places in the list of the samples that are not left out; `None` where all are read.

        Raises
        ------
        ArgumentError
            If none is kept.
        """
        if not self.excluded:
            return None
        rows = np.arange(size, dtype=np.int64)
        names, files = self.sample_names(rows), self.sources(rows) or ("",) * size
        flags = [not (self.excludes(name) or self.excludes(file)) for name, file in zip(names, files, strict=True)]
        kept = rows[np.array(flags, np.bool_)]
        if not len(kept):
            raise self.fail(f"'{self.value('exclude_list')}' leaves out all {size} samples", "exclude_list")
        return kept if len(kept) < size else None

    def remote_rows(self) -> RemoteRows | None:
        """The parts of files that samples consist of, where some are remote; asked for after :meth:`load`."""
        return None

    def unmatched(self) -> Iterable[Unmatched]:
        """Labels without files, and files without labels, beside the list; empty where it cannot be told."""
        return ()

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        """For a reader that `identifies`: text for each sample that tells what of its files it is made of, and all
        that outputs hold beside that."""
        raise NotImplementedError

    def states(self, rows: npt.NDArray[np.int64], by_content: bool = False) -> npt.NDArray[np.int64] | None:
        """For a reader that `identifies`: size and time of change of each file of each sample, ``int64[N, K]``, or a
        digest of the bytes that it takes from it; −1 where a file is not there; `None` where it cannot be told."""
        raise NotImplementedError

    def identities(self, call: Call, by_content: bool = False) -> npt.NDArray[np.int64] | None:
        if not self.identifies:
            return None
        rows = call.ticket[call.start : call.start + call.count]
        states = self.states(rows, by_content)
        if states is None:
            return None
        with self._identities_lock:
            if self._identities is None:
                self._identities = Identities(self._size, self._texts)
            return self._identities.of(rows, states, by_content)

    def _texts(self, rows: npt.NDArray[np.int64]) -> Iterator[str]:
        """For each of some samples what is known of it without reading."""
        for place, source in zip(self.places(rows), self.sources(rows), strict=True):
            yield f"{self._values_mark}\0{place}\0{source}"

    @functools.cached_property
    def _values_mark(self) -> str:
        """The arguments that outputs depend on, beside those that say where samples are."""
        apart = {argument.name for argument in (*READER, *AFTER_EPOCH)} | {"name", "seed", *self.locating}
        return repr(sorted((name, str(value)) for name, value in self.values.items() if name not in apart))

    def unreadable(self) -> Iterable[tuple[str, str]]:
        """Names and faults of listed files that were left out as they cannot be opened."""
        return ()

    def source_names(self, call: Call) -> tuple[str, ...]:
        return self.sources(call.ticket[call.start : call.start + call.count])

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        count, shard = values.get("num_shards", 1), values.get("shard_id", 0)
        if shard >= count:
            raise ArgumentError(
                f"num_shards needs to be greater than shard_id: {count} and {shard}", argument="shard_id"
            )

    def open_source(self, seed: int, *, checkpointing: bool = False, tolerant: bool = False) -> Source:
        self._tolerant = tolerant
        source = ListSource(self, seed, checkpointing)
        if not self.value("lazy_init"):
            source.meta()
        return source


class ListSource(Source):
    """Gives the places of samples in a reader's list; the first use finds the samples."""

    def __init__(self, reader: ListReader, seed: int, checkpointing: bool) -> None:
        self._reader = reader
        self._seed = seed
        self._checkpointing = checkpointing
        self._kept: npt.NDArray[np.int64] | None = None
        self._parts: npt.NDArray[np.int64] | None = None
        self._look_ahead: LookAhead | None = None
        self._rest: RestOfEpoch | None = None
        self._followed: Iterator[int] | None = None

    @functools.cached_property
    def _order(self) -> ReaderOrder:
        reader = self._reader
        try:
            size = reader.opened()
            self._kept = reader.kept_places(size)
            size = size if self._kept is None else len(self._kept)
            if reader.values.get("shuffle_after_epoch"):
                found = reader.files_of(np.arange(size) if self._kept is None else self._kept)
                self._parts = None if found is None else np.bincount(found[0], minlength=found[1])
            rows = reader.remote_rows()
            if rows is not None:
                from dali_lab.operators.readers.look_ahead import LookAhead

                self._look_ahead = LookAhead(rows, self._new_order(size), self._kept)
            return self._new_order(size)
        except Exception as error:  # whatever opening raises must name the reader's node
            ours = as_ours(error)
            ours.locate(reader.node, reader.name)
            if ours is error:
                raise
            raise ours from error

    def _new_order(self, size: int, shards: tuple[int, int] | None = None) -> ReaderOrder:
        """An order that has not begun; `shards` are another number of shards than the reader's, and one of them."""
        from dali_lab.operators.readers.order import ReaderOrder

        reader = self._reader
        num_shards, shard_id = shards or (reader.value("num_shards"), reader.value("shard_id"))
        return ReaderOrder(
            size,
            seed=self._seed,
            random_shuffle=reader.value("random_shuffle"),
            initial_fill=reader.value("initial_fill"),
            shuffle_after_epoch=reader.values.get("shuffle_after_epoch", False),
            shuffle_after_epoch_seed=reader.values.get("shuffle_after_epoch_seed"),
            num_shards=num_shards,
            shard_id=shard_id,
            stick_to_shard=reader.value("stick_to_shard"),
            pad_last_batch=reader.value("pad_last_batch"),
            checkpointing=self._checkpointing,
            shuffle_list=reader.shuffles_list,
            parts=self._parts,
        )

    def follow(self, places: npt.NDArray[np.int64]) -> None:
        """Give the samples at these places in the list, without those that are left out, and again from the first."""
        self.meta()
        self._followed = itertools.cycle(self._rows(places).tolist())

    def draw(self, batch_size: int) -> Draw:
        if self._followed is not None:
            return Draw(batch_size, np.fromiter(self._followed, np.int64, batch_size))
        order = self._order  # opens the reader, which may fail and be tried again
        self._given += 1
        if self._rest is not None:
            places = self._next_of_rest(batch_size)
        else:
            places = order.next_batch(batch_size)
            if self._look_ahead is not None:
                self._look_ahead.drawn(batch_size, order)
        return Draw(batch_size, places if self._kept is None else self._kept[places])

    def _next_of_rest(self, count: int) -> npt.NDArray[np.int64]:
        """Places of the next samples of the rest of an epoch, and of the next epoch once it is over."""
        assert self._rest is not None
        found = np.array([] if self._rest.over else self._rest.next_batch(count), np.int64)
        if len(found) < count:
            self._rest = None
            found = np.concatenate([found, self._order.next_batch(count - len(found))])
        if self._look_ahead is not None:
            self._look_ahead.drawn_apart(found, self._order)
        return found

    def skip(self, count: int) -> None:
        """Pass over samples."""
        self.skip_batches(1, count)

    def skip_batches(self, batches: int, batch_size: int) -> None:
        for _ in range(batches):
            if self._rest is not None:
                self._next_of_rest(batch_size)
            else:
                self._order.next_batch(batch_size)
        if self._look_ahead is not None:
            self._look_ahead.follow(self._order)

    def next_places(self, count: int) -> npt.NDArray[np.int64]:
        """Places in the list, without those that are left out, of the next samples, which are passed over."""
        return self._order.next_batch(count)

    @functools.cached_property
    def _kept_mark(self) -> int | None:
        """A number that tells which samples are kept; `None` where all are."""
        return None if self._kept is None else zlib.crc32(self._kept.tobytes())

    def state(self) -> Any:
        state = self._order.get_state() if self._rest is None else self._rest.state()
        return state if self._kept is None else {**state, "kept": self._kept_mark}

    def restore(self, state: Any) -> None:
        order = self._order
        for each in state.get("shards", (state,)):
            if ("state" in each or "rest" in each) and each.get("kept") != self._kept_mark:
                raise ValueError("the saved state is that of a reader that left out other samples (exclude_list)")
        self._rest = None
        if "shards" in state or "rest" in state:
            self._restore_rest(state)
        else:
            order.set_state(state)
        if self._look_ahead is not None:
            self._look_ahead.follow(order)

    def _restore_rest(self, state: Any) -> None:
        """Go on with the rest of an epoch that another number of shards began."""
        from dali_lab.operators.readers.rest_of_epoch import RestOfEpoch, merged

        order = self._order
        if "shards" in state:
            count = len(state["shards"])
            olds = [self._new_order(order.size, (count, shard)) for shard in range(count)]
            rest = merged(state["shards"], olds, order, state.get("epochs", ()))
        else:
            rest = RestOfEpoch.restored(state, order)
        order.begin_epoch(rest.engine, rest.epoch)
        self._rest = rest if rest.places else None

    @property
    def in_rest(self) -> bool:
        """Whether the rest of an epoch that another number of shards began is next."""
        return self._rest is not None

    def close(self) -> None:
        if self._look_ahead is not None:
            self._look_ahead.close()

    def meta(self) -> Mapping[str, int]:
        whole = self._order.meta()
        return whole if self._rest is None else self._rest.meta(whole)

    def names(self, places: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Names of samples by their places in the list, without those that are left out."""
        return self._reader.sample_names(self._rows(places))

    def files(self, places: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Files of samples by their places in the list, without those that are left out."""
        return self._reader.sources(self._rows(places))

    def labels(self) -> npt.NDArray[np.int64] | None:
        """Labels of all samples in the order of the list, without those that are left out; `None` without labels."""
        size = self.meta()["epoch_size"]
        found = self._reader.labels()
        return None if found is None else found[self._rows(np.arange(size, dtype=np.int64))]

    def chosen(self, places: npt.NDArray[np.int64], count: int) -> Draw:
        """A batch of `count` samples at these places in the list, repeated as needed; nothing is passed over."""
        return Draw(count, self._rows(np.resize(places, count)))

    def unmatched(self) -> Iterable[Unmatched]:
        """Labels without files, and files without labels, that the reader finds beside its list."""
        self.meta()
        return self._reader.unmatched()

    def unreadable(self) -> Iterable[tuple[str, str]]:
        """Names and faults of listed files that the reader left out as they cannot be opened."""
        self.meta()
        return self._reader.unreadable()

    def _rows(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        self.meta()
        return places if self._kept is None else self._kept[places]


def list_sources(sources: Mapping[str, Source]) -> dict[str, ListSource]:
    """The sources among these that know the list of their samples."""
    return {name: source for name, source in sources.items() if isinstance(source, ListSource)}


def check_alike(call: Call, output: int, arrays: Sequence[npt.NDArray[np.generic]], sources: Sequence[str]) -> None:
    """Check that the arrays read for an output can form a batch.

    Raises
    ------
    SampleError
        If an array differs from the first in type or number of dimensions.
    """
    first = arrays[0]
    for index, array in enumerate(arrays):
        if (array.dtype, array.ndim) != (first.dtype, first.ndim):
            raise call.problem(
                f"output {output} has {array.ndim} dimensions of {array.dtype}, where '{sources[0]}' has {first.ndim}"
                f" of {first.dtype}",
                sample=index,
                source=sources[index],
                kind=UnlikeSampleError,
            )
