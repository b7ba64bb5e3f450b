"""Clips, volumes and sounds of one sample, to be played."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable

import numpy as np

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
