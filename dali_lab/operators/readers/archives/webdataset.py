"""Reads samples from tar archives."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import read_text, reason
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT16, FLOAT64, UINT8, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.archives import index
from dali_lab.operators.readers.archives.index import Components, IndexFileError
from dali_lab.operators.readers.archives.kept_index import components_of, for_each
from dali_lab.operators.readers.archives.tar import TarError
from dali_lab.operators.readers.large_files import LargeFiles
from dali_lab.operators.readers.list_reader import FILES_AFTER_EPOCH, READER
from dali_lab.operators.readers.range_readers import RangeReader, Rows
from dali_lab.schema import Arg, Call, Output, choice, flag, register, strings
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.ports import INTEGERS

if TYPE_CHECKING:
    from dali_lab.operators.readers.unmatched import Unmatched

_BEHAVIOURS = ("empty", "skip", "error")
_TYPES = (*INTEGERS, FLOAT16, FLOAT, FLOAT64)


@register
class Webdataset(RangeReader):
    """Reads samples from tar archives, as WebDataset has them: one output for each kind of file.

    Files that follow each other in an archive and have one name, but for what stands behind its first dot, are a
    sample. Files whose names begin with a dot, and what is no regular file, are left out.
    ``dali-lab index FILE…`` writes an index for each archive. Without it, archives are looked through at the start.
    """

    name = "readers.webdataset"
    title = "WebDataset reader"
    outputs = (Output("component", kind="any", doc="The bytes of a file of each sample, one-dimensional.", each="ext"),)
    differs = (
        "Archives without an index: names of extended headers (pax) count, and neither a hidden file nor the end of an"
        " archive makes an empty sample. A sample is complete if all outputs are, even if two have the same file."
    )
    shuffles_list = False
    identifies = True
    locating = ("paths", "index_paths", "case_sensitive_extensions", "missing_component_behavior")
    tested_elsewhere = "tests/unit/readers/test_webdataset.py"
    arguments = (
        strings("paths", REQUIRED, "Paths of the archives.", widget="path", important=True),
        strings(
            "ext",
            REQUIRED,
            "For each output the extension of its files, without a dot in front; several go with ``;`` between them.",
            important=True,
        ),
        strings("index_paths", None, "Paths of the index files, one for each archive.", widget="path"),
        choice(
            "missing_component_behavior",
            "empty",
            _BEHAVIOURS,
            "What becomes of samples that lack a file: the output is empty, the sample is left out, or it is an error.",
            synonyms=(("", "empty"), *((name, name) for name in _BEHAVIOURS)),
            refused_as="Invalid value for missing_component_behavior",
        ),
        Arg("dtypes", "dtype", None, "Type of the elements of each output; by default UINT8.", vector=True),
        flag("case_sensitive_extensions", "Tell upper and lower case apart in extensions.", default=True),
        *READER,
        *FILES_AFTER_EPOCH,
    )
    example = '>>> encoded, label = fn.readers.webdataset(paths=["shard0.tar", "shard1.tar"], ext=["jpg;png", "cls"])'

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return len(values.get("ext") or ("",))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        paths, indices, ext, dtypes = (values.get(name) for name in ("paths", "index_paths", "ext", "dtypes"))
        if paths is not None and not paths:
            raise ArgumentError("is an empty list: No webdataset archives provided", argument="paths")
        if ext is not None and not ext:
            raise ArgumentError("is an empty list", argument="ext")
        if paths and indices and len(indices) != len(paths):
            raise ArgumentError(
                f"has {len(indices)} index files for {len(paths)} archives. The number of index files, if any, must"
                " match the number of archives in the dataset",
                argument="index_paths",
            )
        if ext and dtypes is not None and len(dtypes) != len(ext):
            raise ArgumentError(
                f"has {len(dtypes)} types for {len(ext)} outputs. Number of extensions does not match the number of"
                " provided types",
                argument="dtypes",
            )
        for dtype in dtypes or ():
            if dtype not in _TYPES:
                known = ", ".join(each.name for each in _TYPES)
                message = f"Unsupported output dtype {dtype.name}. Supported types are: {known}"
                raise ArgumentError(message, argument="dtypes")

    def load(self) -> int:
        self._warned = False
        self._names: tuple[str, ...] = self.value("paths")
        self._dtypes = self.value("dtypes") or (UINT8,) * len(self.value("ext"))
        self._files = LargeFiles(self._names, "paths", ahead=self.value("read_ahead"))
        tables, chosen, start, archives = [], [], 0, []
        for number, table in enumerate(for_each(self._components, self.value("index_paths") or self._names)):
            rows = self._chosen(table, number)
            tables.append(table)
            chosen.append(np.where(rows < 0, -1, rows + start))
            archives.append(np.full(rows.shape[1], number, np.int64))
            start += len(table.samples)
        self._chosen_of = np.ascontiguousarray(np.concatenate(chosen, axis=1))
        self._file = np.concatenate(archives)
        # A file that is not there has neither place nor size, and stands at the end.
        none = np.zeros(1, np.int64)
        self._offsets = np.concatenate([*(table.offsets for table in tables), none])
        self._sizes = np.concatenate([*(table.sizes for table in tables), none])
        self._entries = [name for table in tables for name in table.names]
        if not len(self._file):
            what = " has all of 'ext'" if self.value("missing_component_behavior") == "skip" else " is there"
            raise self.fail(f"no sample{what} in {', '.join(map(repr, self._names[:3]))}", "paths")
        return len(self._file)

    def _components(self, number: int) -> Components:
        """The files in an archive, by its index if there is one."""
        indices = self.value("index_paths")
        path = indices[number] if indices else self._names[number]
        try:
            if not indices:
                return components_of(path)
            return index.parse(read_text(path))
        except (TarError, IndexFileError, OSError, ValueError) as error:
            argument = "index_paths" if indices else "paths"
            raise self.fail(f"cannot read '{path}': {reason(error, path)}", argument) from error

    def _chosen(self, table: Components, number: int) -> npt.NDArray[np.int64]:
        """For each output and sample the place of its file in the table, −1 where there is none."""
        fold = (lambda text: text) if self.value("case_sensitive_extensions") else _lower
        codes: dict[str, int] = {}
        own = np.array([codes.setdefault(fold(name), len(codes)) for name in table.extensions], np.int64)
        result = np.full((len(self.value("ext")), table.sample_count), -1, np.int64)
        for output, alternatives in enumerate(self.value("ext")):
            wanted = [codes[name] for name in map(fold, _alternatives(alternatives)) if name in codes]
            places = np.flatnonzero(np.isin(own, wanted))
            samples, first = np.unique(table.samples[places], return_index=True)
            result[output, samples] = places[first]
            if len(samples) < len(places):
                self._warn_of_several(output, number)
            item = numpy_dtype(self._dtypes[output]).itemsize
            odd = table.sizes[places[first]] % item != 0
            if odd.any():
                place = int(places[first][odd.argmax()])
                raise self.fail(
                    f"component size and dtype incompatible: {self._place(table, place, number)} has"
                    f" {table.sizes[place]} bytes, no whole number of {self._dtypes[output].name}",
                    "dtypes",
                )
        lacking = (result < 0).any(axis=0)
        behaviour = self.value("missing_component_behavior")
        if behaviour == "error" and lacking.any():
            sample = int(lacking.argmax())
            output = int((result[:, sample] < 0).argmax())
            place = int((table.samples == sample).argmax())
            raise self.fail(
                f'Underful sample detected at tar file at "{self._names[number]}":'
                f" {self._place(table, place, number)} has no file with the extension '{self.value('ext')[output]}'",
                "ext",
            )
        return result[:, ~lacking] if behaviour == "skip" else result

    def _place(self, table: Components, place: int, number: int) -> str:
        name = table.names[place]
        return f"{f'{name!r} ' if name else 'the file '}at byte {table.offsets[place]} of '{self._names[number]}'"

    def _warn_of_several(self, output: int, number: int) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"fn.{self.name}: samples in '{self._names[number]}' have several files for the output {output};"
            " the first of each is read",
            stacklevel=2,
        )

    def ranges(self, rows: Rows) -> list[tuple[Rows, Rows, Rows]]:
        files = (chosen[rows] for chosen in self._chosen_of)
        return [(self._file[rows], self._offsets[chosen], self._sizes[chosen]) for chosen in files]

    def files_of(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
        return self._file[rows], len(self._names)

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._names[archive] for archive in self._file[rows].tolist())

    def sample_names(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """The place of the first file of each sample in its archive."""
        chosen = self._chosen_of[:, rows]
        first = chosen[(chosen >= 0).argmax(axis=0), np.arange(len(rows))]
        return self._places(self._file[rows], first)

    def unmatched(self) -> Iterable[Unmatched]:
        from dali_lab.operators.readers.unmatched import unmatched

        for extension, files in zip(self.value("ext"), self._chosen_of, strict=True):
            names = self.sample_names(np.flatnonzero(files < 0))
            yield from unmatched("without_label", names, f"samples without a file '.{extension}'")

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        names = zip(*(self._places(self._file[rows], chosen[rows]) for chosen in self._chosen_of), strict=True)
        return (f"{place}\0{name}" for place, name in zip(super().places(rows), names, strict=True))

    def batch_sources(self, call: Call, output: int) -> tuple[str, ...]:
        rows = call.ticket[call.start : call.start + call.count]
        return self._places(self._file[rows], self._chosen_of[output][rows])

    def _places(self, archives: npt.NDArray[np.int64], files: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """Archive, position and name of files; empty where there is none."""
        places = zip(archives.tolist(), self._offsets[files].tolist(), files.tolist(), strict=True)
        return tuple(
            f"{self._names[archive]}:{offset}:{self._entries[file]}" if file >= 0 else ""
            for archive, offset, file in places
        )

    def run(self, call: Call) -> tuple[Batch, ...]:
        rows = call.ticket[call.start : call.start + call.count]
        archives = self._file[rows]
        results = []
        for chosen, dtype in zip(self._chosen_of, self._dtypes, strict=True):
            places = chosen[rows]
            offsets, sizes = self._offsets[places], self._sizes[places]
            sources = self._places(archives, places)
            batch = self._files.read(call, archives, offsets, sizes, sources, dtype)
            batch.sources = sources
            results.append(batch)
        return tuple(results)


def _alternatives(text: str) -> list[str]:
    """The extensions in ``jpg;png``; as in NVIDIA DALI nothing behind the last semicolon is none."""
    names = text.split(";")
    return names if names[-1] else names[:-1]


def _lower(text: str) -> str:
    return text.lower()
