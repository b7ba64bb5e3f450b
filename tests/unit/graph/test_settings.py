"""Settings of pipelines are held to their ranges wherever they enter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dali_lab
from dali_lab.cli.entry import main
from dali_lab.formats import dumps, loads
from dali_lab.graph.verification import problems
from dali_lab.model.errors import ArgumentError, FormatError
from dali_lab.pipeline.pipeline import Pipeline
from tests.together import with_each

HUGE = 9223372036854775296
WRONG: list[tuple[str, Any]] = [
    ("num_threads", HUGE),
    ("num_threads", 1 << 13),
    ("num_threads", "4"),
    ("num_threads", 1.5),
    ("num_threads", True),
    ("batch_size", HUGE),
    ("batch_size", -7),
    ("batch_size", [2]),
    ("prefetch_queue_depth", HUGE),
    ("prefetch_queue_depth", {"cpu_size": HUGE, "gpu_size": 1}),
    ("prefetch_queue_depth", {"cpu_size": 2}),
    ("prefetch_queue_depth", {3: 2}),
    ("device_id", HUGE),
    ("device_id", "0"),
    ("seed", 1 << 64),
    ("seed", "x"),
    ("bytes_per_sample", -1),
    ("py_num_workers", HUGE),
]


def text_with(name: str, value: Any) -> str:
    nodes = {"numbers": {"op": "random.uniform", "device": "cpu"}}
    document = {"format": "dali-lab/graph", "version": 1, "nodes": nodes, "outputs": ["numbers"]}
    return json.dumps({**document, "pipeline": {"batch_size": 2, name: value}})


@pytest.mark.parametrize(("name", "value"), [row for row in WRONG if 3 not in (row[1] if row[1] == {3: 2} else ())])
def test_graph_files_with_wrong_settings(tmp_path: Path, name: str, value: Any, capsys: Any) -> None:
    graph = loads(text_with(name, value))
    found = problems(graph)
    assert [problem.argument for problem in found] == [name]
    with pytest.raises(ArgumentError, match=name):
        Pipeline.from_graph(graph)
    with pytest.raises(FormatError, match=name):
        dumps(graph, "dali-serialized")
    (tmp_path / "graph.dali.json").write_text(text_with(name, value))
    assert main(["run", str(tmp_path / "graph.dali.json")]) != 0
    assert name in capsys.readouterr().err


@with_each(("name", "value"), WRONG)
def test_programs_with_wrong_settings(name: str, value: Any) -> None:
    arguments: dict[str, Any] = {"batch_size": 1, "num_threads": 1, "device_id": None}
    with pytest.raises(ArgumentError, match=name) as caught:
        Pipeline(**{**arguments, name: value})
    assert caught.value.origin is not None
    assert __file__ in caught.value.origin


def test_what_is_not_given() -> None:
    pipeline = Pipeline(-1, -1, None, prefetch_queue_depth=-1, seed=-1)
    assert pipeline.prefetch_queue_depth == 2
    assert dali_lab.Pipeline(1, 1, -99999).device_id in (None, -99999)


@pytest.mark.parametrize("settings", [{"output_dtype": "x"}, {"output_ndim": "x"}, {"output_layout": 5}])
def test_outputs_that_are_described_wrongly(settings: dict[str, Any]) -> None:
    graph = loads(text_with("seed", 1)).replaced(pipeline=settings)
    with pytest.raises(FormatError, match="output_dtype"):
        dumps(graph, "dali-serialized")


def test_serialized_pipelines_with_wrong_settings() -> None:
    from dali_lab.formats.dali.messages import messages

    message = messages().PipelineDef.FromString(dumps(loads(text_with("seed", 1)), "dali-serialized"))
    message.num_threads = HUGE
    data = message.SerializeToString()
    with pytest.raises(ArgumentError, match="num_threads"):
        Pipeline.deserialize(data)
    with pytest.raises(ArgumentError, match="num_threads"):
        Pipeline(1, None, None).deserialize_and_build(data)
