"""Clips, volumes and sounds of one sample, to be played."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dali_lab.gallery.samples import sounds, volumes
from dali_lab.studio.document.graph_document import empty_document
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, Json


def client_of(open_session: Callable[..., Session], **nodes: Json) -> Client:
    return Client(open_session({**empty_document(), "nodes": nodes, "outputs": []}))


def test_all_slices_of_a_volume(open_session: Callable[..., Session]) -> None:
    files: Json = {"op": "readers.numpy", "arguments": {"file_root": str(volumes()), "file_filter": "*.npy"}}
    shaped: Json = {"op": "reshape", "inputs": ["files"], "arguments": {"layout": "DHWC"}}
    client = client_of(open_session, files=files, volume=shaped)
    played = client.call("play", node="volume", sample=1)
    first = np.load(sorted(volumes().glob("*.npy"))[1])
    assert len(played["images"]) == len(first)
    assert {image["width"] for image in played["images"]} == {first.shape[2]}
    assert "sound" not in played


def test_pinned_samples_are_played_swept_and_compared(open_session: Callable[..., Session], tmp_path: Path) -> None:
    for depth in range(1, 6):
        np.save(tmp_path / f"{depth}.npy", np.full((depth, 4, 3 + depth, 1), depth, np.uint8))
    nodes: Json = {
        "files": {"op": "readers.numpy", "arguments": {"file_root": str(tmp_path), "file_filter": "*.npy"}},
        "volume": {"op": "reshape", "inputs": ["files"], "arguments": {"layout": "DHWC"}},
    }
    client = client_of(open_session, **nodes)
    pinned: Json = {"pins": [4, 1], "pinned_of": 5}
    assert [len(client.call("play", node="volume", sample=each, **pinned)["images"]) for each in (0, 1)] == [5, 2]
    # A picture of a volume is its middle slice, which is as wide as its file says.
    widths = lambda images: [each["width"] / each["height"] for each in images]  # noqa: E731
    swept = client.call("sweep", node="volume", argument="layout", values=["DHWC"], sample=1, **pinned)
    compared = client.call(
        "compare",
        document={**empty_document(), "nodes": nodes, "outputs": []},
        nodes=[{"node": "volume", "output": 0}],
        samples=2,
        **pinned,
    )
    assert widths(swept["images"]) == pytest.approx([5 / 4], abs=0.02)
    assert widths(compared["results"][0]["images"]) == pytest.approx([8 / 4, 5 / 4], abs=0.02)


def test_sound_with_waveform_and_spectrogram(open_session: Callable[..., Session]) -> None:
    file = sorted(sounds().glob("*.wav"))[0]
    files: Json = {"op": "readers.file", "arguments": {"files": [str(file)]}}
    client = client_of(open_session, files=files, sound={"op": "decoders.audio", "inputs": ["files"]})
    asked = client.send("play", node="sound")
    played, buffers = client.response(asked)["result"], client.buffers(asked)
    with wave.open(str(file)) as given, wave.open(io.BytesIO(buffers[played["sound"]])) as heard:
        assert heard.getframerate() == given.getframerate()
        assert heard.getnframes() == given.getnframes()
        assert played["seconds"] == given.getnframes() / given.getframerate()
        assert played["highest"] == given.getframerate() / 2
    assert len(played["images"]) == 2
