"""Fixtures of the studio's tests: folders of pictures, and an editor that talks to a session."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.schema.samples import picture
from dali_lab.studio.session import Session

Json = dict[str, Any]


class Client:
    """An editor without a face: sends requests, and keeps what comes back."""

    def __init__(self, session: Session, name: str = "client") -> None:
        self.session = session
        self.name = name
        self.port = session.attach(self.take)
        self.events: list[tuple[str, Json, list[bytes]]] = []
        self._messages: queue.Queue[tuple[Json, list[bytes]]] = queue.Queue()
        self._responses: dict[str, tuple[Json, list[bytes]]] = {}
        self._count = 0
        self._runs = 0

    def take(self, message: Json, buffers: list[bytes]) -> None:
        self._messages.put((message, buffers))

    def send(self, method: str, **params: Any) -> str:
        self._count += 1
        identity = f"{self.name}-{self._count}"
        self.session.receive(self.port, {"kind": "request", "id": identity, "method": method, "params": params})
        return identity

    def _next(self, timeout: float = 300) -> None:
        message, buffers = self._messages.get(timeout=timeout)
        if message["kind"] == "event":
            self.events.append((message["event"], message["params"], buffers))
        else:
            self._responses[message["id"]] = message, buffers

    def response(self, identity: str) -> Json:
        while identity not in self._responses:
            self._next()
        return self._responses[identity][0]

    def call(self, method: str, **params: Any) -> Json:
        message = self.response(self.send(method, **params))
        assert "error" not in message, message["error"]
        return message["result"]

    def error(self, method: str, **params: Any) -> Json:
        message = self.response(self.send(method, **params))
        assert "error" in message, message
        return message["error"]

    def buffers(self, identity: str) -> list[bytes]:
        return self._responses[identity][1]

    def event(self, name: str, *, timeout: float = 300, where: Callable[[Json], bool] = lambda _: True) -> Json:
        """The first event of this name not looked at yet; those before it stay."""
        while True:
            for index, (kind, params, _) in enumerate(self.events):
                if kind == name and where(params):
                    del self.events[index]
                    return params
            self._next(timeout)

    def start(self, **params: Any) -> int:
        self._runs += 1
        self.send("preview", **{"run": self._runs, "samples": 4, "thumb": 96, **params})
        return self._runs

    def preview(self, **params: Any) -> dict[str, Json]:
        """A whole preview: what was said of each node, with its buffers, and under ``""`` the end."""
        run = self.start(**params)
        return self.finish(run)

    def finish(self, run: int) -> dict[str, Json]:
        done = self.event("preview.done", where=lambda params: params["run"] == run)
        nodes: dict[str, Json] = {"": done}
        rest = []
        for name, params, buffers in self.events:
            if params.get("run") != run or not name.startswith("preview."):
                rest.append((name, params, buffers))
            elif name == "preview.node":
                nodes[params["node"]] = {**params, "buffers": buffers}
            elif name == "preview.unchanged":
                nodes.update({node: {"unchanged": True, "time_ms": time} for node, time in params["nodes"].items()})
            elif name == "preview.focus":
                nodes[f"focus {params['node']}"] = {**params, "buffers": buffers}
        self.events = rest
        return nodes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eight JPEG pictures in two folders that are their labels."""
    for index in range(8):
        label = tmp_path / "pictures" / ("cats" if index < 4 else "dogs")
        label.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(label / f"{index}.jpg"), picture(60 + 4 * index, 80, seed=index)[..., ::-1])
    return tmp_path / "pictures"


def document(folder: Path | str, **nodes: Json) -> Json:
    """Reader and decoder over a folder, and more nodes; the last one is the output."""
    every: Json = {
        "reader": {"op": "readers.file", "arguments": {"file_root": str(folder)}},
        "decode": {"op": "decoders.image", "inputs": ["reader"]},
        **nodes,
    }
    return {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 8, "num_threads": 2, "seed": 42},
        "nodes": every,
        "outputs": [list(every)[-1]],
        "view": {"nodes": {}, "notes": [], "groups": []},
    }


@pytest.fixture
def open_session(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Makes sessions that are closed in the end."""
    made: list[Session] = []

    def make(content: Json | None = None, **options: Any) -> Session:
        session = Session(content, **{"root": tmp_path, "threads": 2, **options})
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


def image(event: Json, sample: int = 0, output: int = 0) -> np.ndarray:
    """A picture of an event, decoded: RGB."""
    entry = event["outputs"][output]["images"][sample] if "outputs" in event else event["images"][sample]
    data = np.frombuffer(event["buffers"][entry["buffer"]], np.uint8)
    decoded = cv2.imdecode(data, cv2.IMREAD_COLOR)
    assert decoded.shape[:2] == (entry["height"], entry["width"])
    return decoded[..., ::-1]
