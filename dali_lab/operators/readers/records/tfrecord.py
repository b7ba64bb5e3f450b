"""Reads features from files of records of TensorFlow."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.io.files import reason
from dali_lab.model import features as tfrecord
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT64, UINT8
from dali_lab.model.errors import ArgumentError, ArgumentTypeError
from dali_lab.operators.readers.large_files import LargeFiles
from dali_lab.operators.readers.list_reader import FILES_AFTER_EPOCH, READER
from dali_lab.operators.readers.range_readers import RecordReader
from dali_lab.operators.readers.records.index import FRAME, read_index
from dali_lab.schema import Arg, Call, Output, flag, register, strings
from dali_lab.schema.arguments import REQUIRED
from dali_lab.schema.operator import Record

_DTYPES = {tfrecord.int64: INT64, tfrecord.string: UINT8, tfrecord.float32: FLOAT}


class FeatureArg(Arg):
    """An argument of features, which graphs hold as `Feature` objects parsed from text."""

    annotation: ClassVar[str] = "Mapping[str, str] | Sequence[str]"

    def _word(self, value: str) -> str:
        try:
            return tfrecord.parse(value)
        except ValueError as error:
            raise ArgumentError(str(error), argument=self.name) from error


@register
class TFRecord(RecordReader):
    """Reads features from TFRecord files. The result is a dictionary with an output for each of `features`.

    >>> import dali_lab.tfrecord as tfrec
    >>> features = {"image/encoded": tfrec.FixedLenFeature([], tfrec.string, "")}

    Numbers are INT64 or FLOAT; a string is its bytes. ``dali-lab index FILE…`` writes the index files.
    """

    name = "readers.tfrecord"
    positional_arguments = ("path", "index_path", "features")
    schema_name = "readers___TFRecord"
    title = "TFRecord reader"
    outputs = (Output("feature", kind="any", doc="A feature of each record.", each="feature_names"),)
    differs = (
        "Where a record lacks a feature, or has too few elements for its shape, the default value stands; NVIDIA DALI"
        " leaves memory as it is, and gives a single number for a feature that is not there."
    )
    shuffles_list = False
    identifies = True
    locating = ("path", "index_path")
    tested_elsewhere = "tests/unit/readers/test_tfrecord.py"
    arguments = (
        strings("path", REQUIRED, "Paths of the files.", widget="path", important=True),
        strings("index_path", REQUIRED, "Paths of their index files.", widget="path", important=True),
        FeatureArg(
            "features",
            "string",
            REQUIRED,
            "A dictionary of names and what is made by ``tfrecord.FixedLenFeature`` and ``VarLenFeature``.",
            vector=True,
            important=True,
        ),
        strings("feature_names", None, "Their names, where `features` is a list.", important=True),
        flag("use_o_direct", "Kept for programs that set it.", advanced=True),
        *READER,
        *FILES_AFTER_EPOCH,
    )
    example = """
    >>> features = {
    ...     "image/encoded": tfrec.FixedLenFeature([], tfrec.string, ""),
    ...     "image/object/bbox/label": tfrec.VarLenFeature(tfrec.int64, 0),
    ... }
    >>> inputs = fn.readers.tfrecord(path="train", index_path="train.idx", features=features)
    >>> images = fn.decoders.image(inputs["image/encoded"])
    """

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return len(values.get("features") or ("",))

    @classmethod
    def output_keys(cls, values: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(values.get("feature_names") or ()) if "feature_names" not in cls.as_called(values) else ()

    @classmethod
    def as_called(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        features, names = values.get("features") or (), values.get("feature_names") or ()
        if len(features) != len(names) or len(set(names)) < len(names):
            return values
        rest = {key: value for key, value in values.items() if key != "feature_names"}
        return {**rest, "features": dict(zip(names, features, strict=True))}

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        features = kwargs.get("features")
        if not isinstance(features, Mapping):
            names = kwargs.get("feature_names")
            if features is not None and names is None:
                raise ArgumentTypeError(
                    "takes a dictionary of names and features", operator=cls.name, argument="features"
                )
            return super().python_call(record, inputs, kwargs)
        if not features:
            raise ArgumentError("names no features", operator=cls.name, argument="features")
        for name, feature in features.items():
            if not isinstance(feature, (tfrecord.Feature, str)) or not isinstance(name, str):
                raise ArgumentTypeError(
                    f'Expected `nvidia.dali.tfrecord.Feature` for the "{name}", but got {type(feature)}.'
                    " Use `nvidia.dali.tfrecord.FixedLenFeature` or `nvidia.dali.tfrecord.VarLenFeature` to define the"
                    f" features to extract. It was {feature!r:.40}",
                    operator=cls.name,
                    argument="features",
                )
        given = {**kwargs, "features": list(features.values()), "feature_names": list(features)}
        outputs = super().python_call(record, inputs, given)
        return dict(zip(features, outputs if isinstance(outputs, list) else [outputs], strict=True))

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        super().verify(values, connected, inputs)
        paths, indices, features, names = (
            values.get(name) for name in ("path", "index_path", "features", "feature_names")
        )
        if paths is not None and not paths:
            raise ArgumentError("is an empty list", argument="path")
        if paths and indices is not None and len(indices) != len(paths):
            raise ArgumentError(f"has {len(indices)} index files for {len(paths)} files", argument="index_path")
        if features is not None and not features:
            raise ArgumentError("names no features", argument="features")
        if features and (names is None or len(names) != len(features)):
            raise ArgumentError(f"has {len(names or ())} names for {len(features)} features", argument="feature_names")
        for name, feature in zip(names or (), features or (), strict=False):
            if isinstance(feature, tfrecord.Feature):
                _check(name, feature)
        if values.get("use_o_direct") and not values.get("dont_use_mmap"):
            raise ArgumentError("goes with dont_use_mmap=True", argument="use_o_direct")

    def load(self) -> int:
        self._told: set[int] = set()
        self._names = self.value("path")
        self._features: tuple[tfrecord.Feature, ...] = self.value("features")
        self._files = LargeFiles(self._names, "path", ahead=self.value("read_ahead"))
        tables = []
        for path in self.value("index_path"):
            try:
                tables.append(read_index(path))
            except OSError as error:
                raise self.fail(f"cannot read '{path}': {reason(error, path)}", "index_path") from error
        self._file = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        self._offsets, self._sizes = np.ascontiguousarray(np.concatenate(tables).T)
        if not len(self._file):
            raise self.fail(f"no records are in {', '.join(map(repr, self.value('index_path')[:3]))}", "index_path")
        encoded = [name.encode("utf-8", "surrogateescape") for name in self.value("feature_names")]
        self._letters = np.frombuffer(b"".join(encoded) + b"\0", np.uint8).copy()
        self._ends = np.cumsum([len(name) for name in encoded])
        self._kinds = np.array([feature.type for feature in self._features], np.int64)
        self._defaults = [
            np.frombuffer(str(feature.default).encode("utf-8", "surrogateescape") + b"\0", np.uint8).copy()
            for feature in self._features
        ]
        return len(self._file)

    def run(self, call: Call) -> tuple[Batch, ...]:
        from dali_lab.kernels.cpu import background
        from dali_lab.kernels.cpu import tfrecord as kernels

        rows = call.ticket[call.start : call.start + call.count]
        files, offsets, sizes = self._file[rows], self._offsets[rows], self._sizes[rows]
        sources = self.sources(rows)
        records = self._files.read(call, files, offsets, sizes, sources)
        found = np.zeros((len(rows), len(self._features), 3), np.int64)
        wrong = np.zeros(2, np.int64)
        addresses = np.ascontiguousarray(records.addresses)
        done = background.call(
            kernels.scan, addresses, sizes, self._letters, self._ends, self._kinds, found, wrong
        )  # fmt: skip
        if done < len(rows):
            raise self._damaged(call, int(done), wrong.tolist(), sources)
        results = []
        for number in range(len(self._features)):
            counts, lists, lengths = (np.ascontiguousarray(found[:, number, place]) for place in range(3))
            if self._features[number].type == tfrecord.string:
                batch = self._strings(call, number, counts, lists, lengths, records, sources)
            else:
                batch = self._numbers(call, number, counts, lists, lengths, sources)
            if number not in self._told and (counts < 0).all():
                self._warn_of_absent_feature(number, sources)
            self._told.add(number)
            batch.sources = sources
            results.append(batch)
        return tuple(results)

    def _warn_of_absent_feature(self, number: int, sources: Sequence[str]) -> None:
        warnings.warn(
            f"fn.{self.name}: the first records have no feature '{self.value('feature_names')[number]}'; its default"
            f" value stands there ({sources[0]})",
            stacklevel=2,
        )

    def _damaged(self, call: Call, index: int, wrong: list[int], sources: Sequence[str]) -> Exception:
        said = {
            1: f"it has {wrong[1]} bytes by its index, and must have {FRAME} at least",
            2: f"it says that its content has {wrong[1]} bytes, more than its index gives it",
        }
        reason = said.get(wrong[0], "its content is not a message of the type Example")
        return call.problem(f"cannot read the record: {reason}", sample=index, source=sources[index])

    def _strings(
        self,
        call: Call,
        number: int,
        counts: npt.NDArray[np.int64],
        lists: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        records: Batch,
        sources: Sequence[str],
    ) -> Batch:
        """The first string of each record, where it lies in the record if that is allowed."""
        if not counts.all():
            index = int((counts == 0).argmax())
            raise call.problem(
                f"the feature '{self.value('feature_names')[number]}' of the record holds no string",
                sample=index,
                source=sources[index],
            )
        default = self._defaults[number]
        absent = counts < 0
        addresses = np.where(absent, default.ctypes.data, lists)
        sizes = np.where(absent, len(default) - 1, lengths)
        if call.transient:
            return Batch(addresses, sizes.reshape(-1, 1), UINT8, "", (*records.owners, default))
        from dali_lab.kernels.cpu import copy

        out = call.allocate(sizes.reshape(-1, 1), UINT8, "", output=number)
        copy.copy(addresses, out.addresses, sizes, 1)
        return out

    def _numbers(
        self,
        call: Call,
        number: int,
        counts: npt.NDArray[np.int64],
        lists: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        sources: Sequence[str],
    ) -> Batch:
        from dali_lab.kernels.cpu import background
        from dali_lab.kernels.cpu import tfrecord as kernels

        feature, name = self._features[number], self.value("feature_names")[number]
        volume = math.prod(feature.shape)
        held = np.maximum(counts, 0)
        wrong = held > volume if feature.fixed else held % volume != 0
        if wrong.any():
            index = int(wrong.argmax())
            shape = "×".join(map(str, feature.shape)) or "1"
            what = f"more than its shape, {shape}, holds" if feature.fixed else f"no whole number of rows of {shape}"
            raise call.problem(
                f"the feature '{name}' of the record has {held[index]} elements: {what}",
                argument="features",
                sample=index,
                source=sources[index],
            )
        if feature.fixed:
            shapes = np.tile(np.array(feature.shape, np.int64), (call.count, 1))
        else:
            shapes = np.concatenate(
                [(held // volume).reshape(-1, 1), np.tile(np.array(feature.shape, np.int64), (call.count, 1))], axis=1
            )
        out = call.allocate(shapes, _DTYPES[feature.type], "", output=number)
        if feature.fixed:
            for index in np.flatnonzero(held < volume).tolist():
                out.array(index)[...] = feature.default
        take = kernels.take_floats if feature.type == tfrecord.float32 else kernels.take_integers
        background.call(take, lists, lengths, np.ascontiguousarray(out.addresses), counts)
        return out


def _check(name: str, feature: tfrecord.Feature) -> None:
    """Raise :class:`ArgumentError` if a feature cannot be read."""
    if feature.type == tfrecord.string and (not feature.fixed or math.prod(feature.shape) != 1):
        raise ArgumentError(
            f"'{name}' must be FixedLenFeature([], string, …): one string in each record", argument="features"
        )
    least = 0 if feature.fixed else 1
    if any(extent < least for extent in feature.shape):
        raise ArgumentError(f"'{name}' cannot have the shape {list(feature.shape)}", argument="features")
