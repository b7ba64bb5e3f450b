"""Probes of the editor train with and without a step."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.studio.document.graph_document import of_graph
from tests.unit.studio.conftest import Client, open_session
from tests.unit.studio.test_probing import Open, graph

__all__ = ["open_session"]  # a fixture


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stripes along x and along y, which rotations by a quarter turn confuse."""
    root: Path = tmp_path_factory.mktemp("stripes")
    numbers = np.random.default_rng(0)
    for label, axis in enumerate(("across", "along")):
        (root / axis).mkdir()
        for number in range(20):
            wave = 128 + 90 * np.sin(np.arange(24) * 0.9 + numbers.uniform(0, 6))
            plane = np.broadcast_to(wave if label else wave[:, None], (24, 24)) + numbers.normal(0, 9, (24, 24))
            cv2.imwrite(str(root / axis / f"{number}.png"), plane.clip(0, 255).astype(np.uint8))
    return root


def test_a_probe_trains_with_and_without_a_step(open_session: Open, folder: Path) -> None:
    client = Client(open_session(of_graph(graph(str(folder))), root=folder))
    client.call("probe", run=1, node="ready", nodes=["turned"], seeds=2, epochs=2, side=16, samples=100)
    done = client.event("probe.done")
    assert done["status"] == "done", done
    assert (done["training"], done["measured"], done["classes"]) == (32, 8, 2)
    assert done["nodes"] == ["turned"]
    kinds = [(curve["augmented"], curve["seed"]) for curve in done["curves"]]
    assert kinds == [(False, 0), (True, 0), (False, 1), (True, 1)]
    last = [curve["accuracies"][-1] for curve in done["curves"]]
    assert all(len(curve["accuracies"]) == 2 for curve in done["curves"])
    apart = [last[1] - last[0], last[3] - last[2]]
    assert done["difference"] == pytest.approx(np.mean(apart), abs=1e-5)
    assert done["spread"] == pytest.approx(np.std(apart, ddof=1), abs=1e-5)
    progress = client.event("probe.progress", where=lambda params: params["done"] > 0)
    assert progress["total"] == 8
    assert progress["left"] > 0


def test_a_probe_is_cancelled(open_session: Open, folder: Path) -> None:
    client = Client(open_session(of_graph(graph(str(folder))), root=folder))
    client.call("probe", run=1, node="ready", seeds=10, epochs=100, side=64)
    client.event("probe.progress", where=lambda params: params["done"] > 0)
    client.call("cancel", run=1)
    assert client.event("probe.done")["status"] == "cancelled"


def test_a_graph_without_the_step_is_refused(open_session: Open, folder: Path) -> None:
    client = Client(open_session(of_graph(graph(str(folder))), root=folder))
    client.call("probe", run=1, node="sized", nodes=["ready"])
    assert "no step to probe" in client.event("probe.done")["error"]["message"]


def test_damaged_pictures_are_replaced_and_named(open_session: Open, folder: Path, tmp_path: Path) -> None:
    some = tmp_path / "some"
    shutil.copytree(folder, some)
    for number in (3, 4):
        (some / "along" / f"{number}.png").write_bytes(b"words")
    client = Client(open_session(of_graph(graph(str(some))), root=some))
    client.call("probe", run=1, node="ready", nodes=["turned"], seeds=1, epochs=1, side=16, samples=100)
    done = client.event("probe.done")
    assert done["status"] == "done", done
    assert [Path(file).name for file in done["broken"]] == ["3.png", "4.png"]
    assert (done["training"], done["measured"]) == (32, 8)
    for file in some.rglob("*.png"):
        file.write_bytes(b"words")
    client.call("probe", run=2, node="ready", nodes=["turned"], seeds=1, epochs=1, side=16, samples=100)
    failed = client.event("probe.done", where=lambda params: params["run"] == 2)
    assert failed["status"] == "failed"
    assert ".png" in f"{failed['error'].get('file')} {failed['error']['message']}"
