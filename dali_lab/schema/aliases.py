"""Names of operators from older releases of NVIDIA DALI and their successors: one table for ``fn``, ``ops``, files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dali_lab.schema.registry import default_schema_name


@dataclass(frozen=True)
class Alias:
    """An old name.

    Attributes
    ----------
    name
        The old name under ``fn``.
    successor
        The name that replaces it.
    schema_name
        The old name under ``ops`` and in serialized pipelines.
    defaults
        Arguments whose default was another one under the old name.
    warns
        Whether its use warns that it has a successor.
    """

    name: str
    successor: str
    schema_name: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    warns: bool = True


def _alias(name: str, successor: str, schema_name: str = "", **defaults: object) -> Alias:
    return Alias(name, successor, schema_name or default_schema_name(name), defaults)


ALIASES: dict[str, Alias] = {
    alias.name: alias
    for alias in (
        _alias("audio_decoder", "decoders.audio"),
        _alias("caffe2_reader", "readers.caffe2"),
        _alias("caffe_reader", "readers.caffe"),
        _alias("coco_reader", "readers.coco", "COCOReader"),
        _alias("coin_flip", "random.coin_flip"),
        _alias("fast_resize_crop_mirror", "resize_crop_mirror", antialias=False),
        _alias("file_reader", "readers.file"),
        _alias("image_decoder", "decoders.image"),
        _alias("image_decoder_crop", "decoders.image_crop"),
        _alias("image_decoder_random_crop", "decoders.image_random_crop"),
        _alias("image_decoder_slice", "decoders.image_slice"),
        _alias("mxnet_reader", "readers.mxnet", "MXNetReader"),
        _alias("nemo_asr_reader", "readers.nemo_asr"),
        _alias("normal_distribution", "random.normal"),
        _alias("numpy_reader", "readers.numpy"),
        _alias("sequence_reader", "readers.sequence"),
        _alias("tfrecord_reader", "readers.tfrecord", "TFRecordReader"),
        _alias("transform_translation", "transforms.translation"),
        _alias("uniform", "random.uniform"),
        _alias("video_reader", "readers.video"),
        _alias("video_reader_resize", "readers.video_resize"),
        _alias("experimental.audio_resample", "audio_resample"),
        _alias("experimental.debayer", "debayer"),
        _alias("experimental.equalize", "equalize"),
        _alias("experimental.filter", "filter"),
        _alias("experimental.inflate", "decoders.inflate"),
        _alias("experimental.peek_image_shape", "peek_image_shape"),
        # NVIDIA DALI keeps both names of this one.
        replace(_alias("experimental.resize", "resize"), warns=False),
        _alias("experimental.tensor_resize", "tensor_resize"),
        _alias("experimental.decoders.image", "decoders.image"),
        _alias("experimental.decoders.image_crop", "decoders.image_crop"),
        _alias("experimental.decoders.image_random_crop", "decoders.image_random_crop"),
        _alias("experimental.decoders.image_slice", "decoders.image_slice"),
        _alias("experimental.decoders.video", "decoders.video"),
    )
}
BY_SCHEMA_NAME: dict[str, Alias] = {alias.schema_name: alias for alias in ALIASES.values()}

_BY_SUCCESSOR: dict[str, list[Alias]] = {}
for _entry in ALIASES.values():
    _BY_SUCCESSOR.setdefault(_entry.successor, []).append(_entry)


def aliases_of(name: str) -> list[Alias]:
    """The other names of an operator."""
    return _BY_SUCCESSOR.get(name, [])


_MOVED = "just an alias maintained for backward compatibility."
_PLACEHOLDER = (
    "renamed to follow a common pattern. This is a placeholder operator with identical\n"
    "functionality to allow for backward compatibility."
)


def _reason(old: str, new: str) -> str:
    """Why an operator was renamed, in NVIDIA DALI's words."""
    kind = new.split(".")[1]
    if old == "fn.experimental.peek_image_shape":
        return f"Experimental features of the decoders have been moved to the main module, this is\n{_MOVED}"
    if old.startswith("fn.experimental.decoders.image"):
        return (
            f"Experimental features of the decoders have been moved to the main ``decoders``\nmodule, this is {_MOVED}"
        )
    if old.startswith("fn.experimental.") and new != "fn.decoders.inflate":
        return (
            "This operator was moved out from the experimental phase, and is now a regular DALI operator."
            " This is just a deprecated alias kept for backward compatibility."
        )
    if old.startswith("fn.image_decoder"):
        return f"In DALI 1.0 all decoders were moved into a dedicated ``decoders`` submodule\nand {_PLACEHOLDER}"
    if kind in ("decoders", "readers") and not old.startswith("fn.experimental."):
        return (
            f"In DALI 1.0 all {kind} were moved into a dedicated :mod:`~nvidia.dali.fn.{kind}`\n"
            f"submodule and {_PLACEHOLDER}"
        )
    return ""


def warn_deprecated(name: str, instead: str) -> None:
    """Say that an operator is there for old programs alone, in NVIDIA DALI's words."""
    message = f"WARNING: `nvidia.dali.{name}` is now deprecated.\n{instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that a name has a successor, in NVIDIA DALI's words, so that filters made for them apply."""
    function = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", new).lower().replace("ops.", "fn.", 1)
    lines = (
        f"WARNING: `nvidia.dali.{old}` is now deprecated. Use `nvidia.dali.{function}` instead.",
        _reason(old, function),
    )
    warnings.warn("\n".join(filter(None, lines)), DeprecationWarning, stacklevel=stacklevel + 1)
