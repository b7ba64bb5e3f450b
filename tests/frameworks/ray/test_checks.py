"""``dali-lab check --ray`` finds what a check of this machine finds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import ray

from dali_lab import Pipeline, fn
from dali_lab.cli.entry import main
from dali_lab.formats import dump
from dali_lab.interop.ray.tasks import Work

pytestmark = pytest.mark.usefixtures("local_ray")


@pytest.fixture
def graph(pictures: list[str], tmp_path: Path) -> str:
    """A graph over 4,100 names of pictures, two of which are damaged: five parts."""
    for name in ("cut.jpg", "text.jpg"):
        (tmp_path / name).write_bytes(Path(pictures[0]).read_bytes()[:60] if name == "cut.jpg" else b"no picture")
    names = [pictures[index % len(pictures)] for index in range(4100)]
    names[7], names[3000] = str(tmp_path / "cut.jpg"), str(tmp_path / "text.jpg")
    pipeline = Pipeline(batch_size=64, num_threads=2)
    with pipeline:
        encoded, _ = fn.readers.file(files=names, name="Reader")
        pipeline.set_outputs(fn.peek_image_shape(encoded, name="shape"))
    path = tmp_path / "graph.dali.json"
    dump(pipeline.graph, path)
    return str(path)


def test_a_check_on_a_cluster_finds_the_same(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reports = []
    for more in ([], ["--ray"]):
        folder = tmp_path / f"report{len(more)}"
        assert main(["check", graph, "--report", str(folder), *more]) == 1
        found = json.loads((folder / "report.json").read_text())
        found.pop("seconds", None)
        reports.append(found)
    assert reports[0] == reports[1]
    bad = {finding["place"] for finding in reports[1]["findings"] if finding["kind"] in ("damaged", "refused")}
    assert bad == {7, 3000}
    assert "4,100 samples in" in capsys.readouterr().out


def test_what_all_tasks_share_is_sent_once() -> None:
    """Such as a graph that names a million files."""
    shared = bytes(1 << 20)
    work = Work([np.arange(2), np.arange(3)], lambda numbers: [str(len(shared))] * len(numbers))
    tasks = work.get_read_tasks(2)
    assert all(len(ray.cloudpickle.dumps(task)) < 1 << 16 for task in tasks)
    assert [table.column("results").to_pylist() for task in tasks for table in task()] == [
        ["1048576"] * 2,
        ["1048576"] * 3,
    ]
