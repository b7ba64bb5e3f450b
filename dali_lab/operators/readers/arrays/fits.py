"""Reads images from FITS files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import reason
from dali_lab.model.batch import Batch
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.readers.file_list import FileList, find_unlabelled
from dali_lab.operators.readers.list_reader import AFTER_EPOCH, READER, ListReader, check_alike
from dali_lab.schema import Arg, Call, Output, integers, register, string, strings


@register
class Fits(ListReader):
    """Reads images from FITS files, plain or tile-compressed (by Astropy: ``pip install 'dali-lab[fits]'``).

    Files come from `file_root` and its sub-folders, from a `file_list` with a path on each line, or from `files`. There
    is an output for each of `hdu_indices`, of the type that the file has.
    """

    name = "experimental.readers.fits"
    title = "FITS reader"
    outputs = (Output("image", kind="any", doc="The image in each file, its last FITS axis first."),)
    devices = ("cpu", "gpu")
    differs = (
        "Placed on a GPU, files are read on the CPU and copied. Pixels of compressed images that have no value are NaN;"
        " NVIDIA DALI gives numbers without meaning. Batches tell the names of their files, and there are checkpoints."
    )
    tested_elsewhere = "tests/unit/readers/test_fits.py"
    arguments = (
        string("file_root", None, "Folder of the files; the root of relative paths.", widget="folder", important=True),
        string("file_filter", "*.fits", "Pattern that names of files in `file_root` must match."),
        string("file_list", None, "Text file with a path on each line.", widget="path"),
        strings("files", None, "Paths of the files.", widget="path", relative_to="file_root"),
        integers(
            "hdu_indices",
            (2,),
            "Which header-data units to read, counted from 1 on; 2 is the first after the primary one.",
            minimum=1,
            important=True,
        ),
        Arg(
            "dtypes",
            "dtype",
            None,
            "Kept for programs that set it: outputs have the type of the file.",
            vector=True,
            advanced=True,
        ),
        *AFTER_EPOCH,
        *READER,
    )
    example = '>>> images = fn.experimental.readers.fits(file_root=root, random_shuffle=True, name="Reader")'

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return len(values.get("hdu_indices", (2,)))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        if all(values.get(name) is None for name in ("file_root", "file_list", "files")):
            raise ArgumentError(
                "must be given, or 'file_list' or 'files'", argument="file_root", code="argument_missing"
            )
        count, dtypes = cls.output_count(values), values.get("dtypes")
        if not count:
            raise ArgumentError("is an empty list", argument="hdu_indices")
        if dtypes is not None and len(dtypes) != count:
            raise ArgumentError(f"has {len(dtypes)} types for {count} outputs", argument="dtypes")

    def load(self) -> int:
        self._files: FileList = find_unlabelled(
            self.value("file_root"), self.value("file_list"), self.value("files"), self.value("file_filter")
        )
        return len(self._files.paths)

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return self._files.sources(rows)

    def run(self, call: Call) -> tuple[Batch, ...]:
        from dali_lab.operators.readers.arrays.fits_images import FitsError, read_image

        rows = call.ticket[call.start : call.start + call.count]
        sources = self.sources(rows)
        outputs = []
        for output, number in enumerate(self.value("hdu_indices")):
            images = []
            for index, row in enumerate(rows.tolist()):
                try:
                    images.append(read_image(self._files.paths[row], number))
                except (OSError, FitsError) as error:
                    raise call.problem(
                        f"cannot read the image: {reason(error, self._files.paths[row])}",
                        sample=index,
                        source=sources[index],
                    ) from error
                except ModuleNotFoundError as error:
                    raise call.problem(
                        "the image is tile-compressed, which takes Astropy: pip install 'dali-lab[fits]'",
                        sample=index,
                        source=sources[index],
                    ) from error
            check_alike(call, output, images, sources)
            batch = Batch.of(images)
            batch.sources = sources
            outputs.append(batch)
        return tuple(outputs)
