"""Operators of NVIDIA DALI that this release does not have, each with what it waits for."""

from __future__ import annotations

_READERS = "readers of this format come with a later release; readers.file, readers.numpy and external_source are there"
_VIDEO = "video comes with a later release"

WAITING: dict[str, str] = {
    "readers.coco": _READERS,
    "readers.caffe": _READERS,
    "readers.caffe2": _READERS,
    "readers.mxnet": _READERS,
    "readers.nemo_asr": _READERS,
    "readers.sequence": _READERS,
    "readers.tfrecord": _READERS,
    "readers.webdataset": _READERS,
    "experimental.readers.fits": _READERS,
    "readers.video": _VIDEO,
    "readers.video_resize": _VIDEO,
    "decoders.video": _VIDEO,
    "experimental.decoders.video": _VIDEO,
    "experimental.inputs.video": _VIDEO,
    "experimental.readers.video": _VIDEO,
}


def reason(name: str) -> str:
    """What an operator waits for, as a sentence, or an empty string for one that nobody plans."""
    found = WAITING.get(name)
    return f"fn.{name} is not in this release: {found}" if found else ""
