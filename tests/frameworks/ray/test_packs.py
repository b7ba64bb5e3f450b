"""``dali-lab pack --ray`` writes the shards of a run on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab.cli.entry import main
from dali_lab.formats import dump
from tests.frameworks.ray.conftest import make_pipeline

pytestmark = pytest.mark.usefixtures("local_ray")


def test_a_cluster_writes_the_same_shards(pictures: list[str], tmp_path: Path) -> None:
    graph = tmp_path / "graph.dali.json"
    dump(make_pipeline(pictures).graph, graph)
    for name, more in (("one", []), ("cluster", ["--ray"])):
        assert main(["pack", str(graph), str(tmp_path / name), "--samples", "9", *more]) == 0
    shards = sorted(path.name for path in (tmp_path / "one").glob("shard-*"))
    assert len(shards) == 12
    for shard in shards:
        assert (tmp_path / "one" / shard).read_bytes() == (tmp_path / "cluster" / shard).read_bytes()
