"""Reads files from folders, lists, or by name, with labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INT32
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.file_list import IMAGE_FILTERS, FileList, find_files, matcher
from dali_lab.operators.readers.list_reader import AFTER_EPOCH, READER
from dali_lab.operators.readers.whole_files import Paths, WholeFileReader, read_files
from dali_lab.schema import Call, Output, flag, integers, register, string, strings

if TYPE_CHECKING:
    from dali_lab.operators.readers.unmatched import Unmatched


@register
class File(WholeFileReader):
    """Reads files and their labels.

    Files come from the sub-folders of `file_root`, whose order gives the labels, from a `file_list` with a path and a
    label on each line, or from `files` and `labels`.
    """

    name = "readers.file"
    title = "File reader"
    outputs = (
        Output("encoded", kind="encoded", doc="The bytes of each file, one-dimensional UINT8."),
        Output("labels", kind="tensor", doc="The label of each file, INT32 of shape (1,).", dtype=INT32),
    )
    start = {"file_root": "$photographs"}
    identifies = True
    labelled_files = True
    locating = (
        "file_root", "file_list", "files", "labels", "file_filters", "dir_filters", "case_sensitive_filter",
    )  # fmt: skip
    tested_elsewhere = "tests/unit/readers/test_file.py"
    arguments = (
        string(
            "file_root",
            None,
            "Folder with a sub-folder for each label; the root of relative paths.",
            widget="folder",
            important=True,
        ),
        string("file_list", None, "Text file with a path and a label on each line.", widget="path"),
        strings("files", None, "Paths of the files.", widget="path", relative_to="file_root"),
        integers("labels", None, "Label of each of `files`; by default their positions."),
        strings("file_filters", IMAGE_FILTERS, "Patterns that names of files must match, such as ``*.jpg``."),
        strings("dir_filters", None, "Patterns that names of sub-folders must match."),
        flag("case_sensitive_filter", "Tell upper and lower case apart in patterns."),
        *AFTER_EPOCH,
        *READER,
    )
    example = '>>> encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="Reader")'

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = [name for name in ("file_root", "file_list", "files") if values.get(name) is not None]
        if not given:
            raise ArgumentError(
                "``file_root`` argument is required when not using ``files`` or ``file_list``",
                argument="file_root",
                code="argument_missing",
            )
        if values.get("labels") is not None:
            if values.get("files") is None:
                raise ArgumentError(
                    "The argument ``labels`` is valid only when file paths are provided as `files` argument",
                    argument="labels",
                )
            if len(values["labels"]) != len(values["files"]):
                raise ArgumentError(
                    f"Provided {len(values['labels'])} labels for {len(values['files'])} files", argument="labels"
                )
        super().verify(values, connected, inputs)

    @classmethod
    def listed_folder(cls, values: Mapping[str, Any]) -> str | None:
        chosen = any(values.get(name) is not None for name in ("file_list", "files", "dir_filters"))
        return None if chosen else values.get("file_root")

    def load(self) -> int:
        self._files: FileList = find_files(
            file_root=self.value("file_root"),
            file_list=self.value("file_list"),
            files=self.value("files"),
            labels=self.value("labels"),
            file_filters=self.value("file_filters"),
            dir_filters=self.value("dir_filters"),
            case_sensitive_filter=self.value("case_sensitive_filter"),
        )
        self._paths = Paths(self._files.paths)
        return len(self._files.paths)

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return self._files.sources(rows)

    def labels(self) -> npt.NDArray[np.int64] | None:
        return self._files.labels.astype(np.int64)

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        labels = self._files.labels[rows].tolist()
        return (f"{path}\0{label}" for path, label in zip(self._paths.full_names(rows), labels, strict=True))

    def unmatched(self) -> Iterable[Unmatched]:
        from dali_lab.operators.readers.unmatched import unlisted_files, unread_in_folders

        exact = self.value("case_sensitive_filter")
        if self.value("file_list") is not None:
            match = matcher(self.value("file_filters"), exact)
            yield from unlisted_files(
                self._paths.names, match, "files beside the listed ones that no line of the list names"
            )
        elif self.value("files") is None:
            folders = self.value("dir_filters")
            match_folder = None if folders is None else matcher(folders, exact)
            yield from unread_in_folders(self.value("file_root"), match_folder, self._paths.names)

    def run(self, call: Call) -> tuple[Batch, ...]:
        chosen = call.ticket[call.start : call.start + call.count]
        sources = self.sources(chosen)
        encoded = read_files(call, self._paths, chosen, sources)
        labels = Batch.dense(self._files.labels[chosen].reshape(-1, 1), dtype=INT32)
        labels.sources = sources
        return encoded, labels
