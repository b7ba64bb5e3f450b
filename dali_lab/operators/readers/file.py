"""Reads files from folders, lists, or by name, with labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dali_lab.batch.batch import Batch
from dali_lab.errors import ArgumentError
from dali_lab.operators.readers.file_list import IMAGE_FILTERS, FileList, find_files
from dali_lab.operators.readers.files import Paths, read_files
from dali_lab.operators.readers.shared_order import make_order, verify_shards
from dali_lab.schema import Arg, Call, Operator, Output, register
from dali_lab.schema.operator import Draw
from dali_lab.types import INT32

READER = (
    Arg("random_shuffle", "bool", False, "Draw samples from a buffer of `initial_fill` samples.", important=True),
    Arg("initial_fill", "int", 1024, "Size of the buffer that `random_shuffle` draws from.", minimum=1),
    Arg("num_shards", "int", 1, "Number of parts that the data are cut into, one for each process.", minimum=1),
    Arg("shard_id", "int", 0, "The part to read, less than `num_shards`.", minimum=0),
    Arg("stick_to_shard", "bool", False, "Read the same part in each epoch, rather than the next one."),
    Arg("pad_last_batch", "bool", False, "Repeat the last sample to fill the last batch and to even out the parts."),
    Arg(
        "skip_cached_images",
        "bool",
        False,
        "Kept for programs that set it; decoded pictures are not cached.",
        advanced=True,
    ),
    Arg("lazy_init", "bool", False, "Look for the data when the first batch is read.", advanced=True),
    Arg("read_ahead", "bool", False, "Kept for programs that set it.", advanced=True),
    Arg(
        "prefetch_queue_depth",
        "int",
        1,
        "Kept for programs that set it; batches are read ahead anyway.",
        minimum=1,
        advanced=True,
    ),
    Arg(
        "dont_use_mmap",
        "bool",
        False,
        "Always read files into memory. Otherwise arrays may be mapped: those files must not be cut short meanwhile.",
        advanced=True,
    ),
    Arg("tensor_init_bytes", "int", 1048576, "Kept for programs that set it.", advanced=True),
)


@register
class File(Operator):
    """Reads files and their labels.

    Files come from the sub-folders of `file_root`, whose order gives the labels, from a `file_list` with a path and a
    label on each line, or from `files` and `labels`.
    """

    name = "readers.file"
    family = "readers"
    title = "File reader"
    outputs = (
        Output("encoded", kind="encoded", doc="The bytes of each file, one-dimensional UINT8."),
        Output("labels", kind="tensor", doc="The label of each file, INT32 of shape (1,).", dtype=INT32),
    )
    source = True
    random = True
    tested_elsewhere = "tests/unit/readers/test_file.py"
    arguments = (
        Arg(
            "file_root",
            "string",
            None,
            "Folder with a sub-folder for each label; the root of relative paths.",
            widget="folder",
            important=True,
        ),
        Arg("file_list", "string", None, "Text file with a path and a label on each line.", widget="path"),
        Arg("files", "string", None, "Paths of the files.", vector=True),
        Arg("labels", "int", None, "Label of each of `files`; by default their positions.", vector=True),
        Arg(
            "file_filters",
            "string",
            IMAGE_FILTERS,
            "Patterns that names of files must match, such as ``*.jpg``.",
            vector=True,
        ),
        Arg("dir_filters", "string", None, "Patterns that names of sub-folders must match.", vector=True),
        Arg("case_sensitive_filter", "bool", False, "Tell upper and lower case apart in patterns."),
        Arg("shuffle_after_epoch", "bool", False, "Shuffle all files anew in each epoch."),
        Arg("shuffle_after_epoch_seed", "int", None, "Seed of `shuffle_after_epoch`.", advanced=True),
        *READER,
    )
    example = """
    >>> encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="Reader")
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = [name for name in ("file_root", "file_list", "files") if values.get(name) is not None]
        if not given:
            raise ArgumentError("must be given, or 'file_list' or 'files'", argument="file_root")
        if values.get("labels") is not None:
            if values.get("files") is None:
                raise ArgumentError("goes with 'files', which is not given", argument="labels")
            if len(values["labels"]) != len(values["files"]):
                raise ArgumentError(
                    f"has {len(values['labels'])} labels for {len(values['files'])} files", argument="labels"
                )
        verify_shards(values)

    def setup(self) -> None:
        self._files: FileList | None = None
        self._paths: Paths | None = None
        self._order: Any = None

    def _load(self) -> Any:
        """Find the files and prepare their order, once."""
        if self._order is None:
            self._files = find_files(
                file_root=self.value("file_root"),
                file_list=self.value("file_list"),
                files=self.value("files"),
                labels=self.value("labels"),
                file_filters=self.value("file_filters"),
                dir_filters=self.value("dir_filters"),
                case_sensitive_filter=self.value("case_sensitive_filter"),
            )
            self._paths = Paths(self._files.paths)
            self._order = make_order(self, len(self._files.paths))
        return self._order

    def reader_meta(self) -> dict[str, int]:
        return dict(self._load().meta())

    def draw(self, batch_size: int) -> Draw:
        return Draw(batch_size, self._load().next_batch(batch_size))

    def state(self) -> Any:
        return self._load().get_state()

    def restore(self, state: Any) -> None:
        self._load().set_state(state)

    def run(self, call: Call) -> tuple[Batch, ...]:
        assert self._files is not None
        assert self._paths is not None
        chosen = call.ticket[call.start : call.start + call.count]
        sources = self._files.sources(chosen)
        encoded = read_files(call, self._paths, chosen, sources)
        labels = Batch.dense(self._files.labels[chosen].reshape(-1, 1), dtype=INT32)
        labels.sources = sources
        return encoded, labels
