"""Probes: which steps are left out, how samples are split, and trainings with and without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.studio.document.graph_document import of_graph
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.probing.variants import Sample, random_steps, split, without
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client

Open = Callable[..., Session]


def graph(root: str = "/pictures") -> Graph:
    nodes = [
        Node("reader", "readers.file", arguments={"file_root": root, "random_shuffle": True}),
        Node("picture", "decoders.image_random_crop", inputs=(Edge("reader"),)),
        Node("angle", "random.uniform", arguments={"range": (-90.0, 90.0)}),
        Node("turned", "rotate", inputs=(Edge("picture"),), connections={"angle": Edge("angle")}),
        Node("sized", "resize", inputs=(Edge("turned"),), arguments={"size": (24.0, 24.0)}),
        Node("coin", "random.coin_flip"),
        Node("ready", "crop_mirror_normalize", inputs=(Edge("sized"),), connections={"mirror": Edge("coin")}),
    ]
    return Graph({node.id: node for node in nodes}, (Edge("ready"), Edge("reader", 1)), {"batch_size": 4})


def test_steps_of_chance_are_found_and_left_out() -> None:
    found = graph()
    assert random_steps(found, Edge("ready")) == ["picture", "turned", "ready"]
    plain = without(found, ["picture", "turned", "ready"])
    assert plain["picture"].op == "decoders.image"
    assert "turned" not in plain.nodes
    assert plain["sized"].inputs == (Edge("picture"),)
    assert plain["ready"].op == "crop_mirror_normalize"
    assert not plain["ready"].connections
    assert without(found, ["turned"])["ready"].connections


def test_each_class_is_split_by_itself() -> None:
    samples = [
        Sample(f"{label}/{number}", label) for label, count in ((0, 10), (1, 20), (2, 1)) for number in range(count)
    ]
    training, measured = split(samples, 1000, 1)
    assert {sample.label for sample in training} == {0, 1}
    assert [sum(sample.label == label for sample in measured) for label in (0, 1)] == [2, 4]
    assert not set(training) & set(measured)
    assert split(samples, 1000, 1) == (training, measured)
    with pytest.raises(DocumentError, match="two classes"):
        split(samples[:10], 100, 1)


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
    pytest.importorskip("torch")
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
    pytest.importorskip("torch")
    client = Client(open_session(of_graph(graph(str(folder))), root=folder))
    client.call("probe", run=1, node="ready", seeds=10, epochs=100, side=64)
    client.event("probe.progress", where=lambda params: params["done"] > 0)
    client.call("cancel", run=1)
    assert client.event("probe.done")["status"] == "cancelled"


def test_a_graph_without_the_step_is_refused(open_session: Open, folder: Path) -> None:
    pytest.importorskip("torch")
    client = Client(open_session(of_graph(graph(str(folder))), root=folder))
    client.call("probe", run=1, node="sized", nodes=["ready"])
    assert "no step to probe" in client.event("probe.done")["error"]["message"]
