"""Probes: which steps are left out, how samples are split, and trainings with and without them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.probing.variants import Sample, random_steps, split, without
from dali_lab.studio.session import Session

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
