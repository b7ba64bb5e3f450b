"""NVIDIA DALI reads every operator's serialized form: the first cases of each, run there from our bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab.formats.dali import writer as dali_proto
from dali_lab.schema import all_operators
from dali_lab.schema.cases import Case
from tests.conformance.harness import SEED, argument, compare, declared, describe, expanded, run
from tests.together import with_each

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI reads what is written here")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

FIRST = 2
CASES = [
    pytest.param(name, case, id=f"{name}-{index}-{describe(case)}")
    for name, operator in all_operators().items()
    if not operator.beyond_dali
    for index, case in enumerate(declared(name)[:FIRST])
]


def serialized(name: str, case: Case) -> tuple[bytes, dict[str, tuple[list[np.ndarray], str]], int]:
    """A case as our bytes, and what must be fed to its external sources."""
    feeds: dict[str, tuple[list[np.ndarray], str]] = {}
    inputs = expanded(case.inputs, case.batch_size)
    sizes = [len(arrays) for arrays, _ in inputs]
    sizes += [len(value.values) for value in case.arguments.values() if hasattr(value, "values")]
    batch_size = sizes[0] if sizes else case.batch_size
    pipeline = dali_lab.Pipeline(batch_size, 1, None, seed=SEED, prefetch_queue_depth=1)

    def feed(arrays: list[np.ndarray], layout: str) -> Any:
        source = f"source{len(feeds)}"
        feeds[source] = (arrays, layout)
        return dali_lab.fn.external_source(name=source, **({"layout": layout} if layout else {}))

    function: Any = dali_lab.fn
    for part in name.split("."):
        function = getattr(function, part)
    with pipeline:
        nodes = [feed(arrays, layout) for arrays, layout in inputs]
        arguments = {key: argument(value, dali_lab.types, feed) for key, value in case.arguments.items()}
        outputs = function(*nodes, **arguments)
        pipeline.set_outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    return pipeline.serialize(), feeds, batch_size


@with_each(("name", "case"), CASES)
def test_nvidia_dali_runs_our_bytes(name: str, case: Case) -> None:
    data, feeds, _ = serialized(name, case)
    pipeline = dali.Pipeline.deserialize(data, exec_dynamic=True, prefetch_queue_depth=1)
    rows = []
    for _ in range(case.batches):
        for source, (arrays, layout) in feeds.items():
            pipeline.feed_input(source, arrays, layout=layout or None)
        row = []
        for output in pipeline.run():
            cpu = output.as_cpu()
            samples = [np.array(cpu.at(index)) for index in range(len(cpu))]
            row.append({"dtype": cpu.dtype.name, "layout": cpu.layout(), "samples": samples})
        rows.append(row)
    # The reference is NVIDIA DALI itself, defined in Python: so the bytes must say exactly what the calls said.
    compare(rows, run(dali, name, case, batches=case.batches), Case(tolerance=0))


@pytest.mark.parametrize(
    ("policy", "concurrency"), [("SINGLE", None), (None, "NONE"), ("PER_OPERATOR", "FULL"), (None, None)]
)
def test_policies_of_the_executor_are_kept(policy: str | None, concurrency: str | None) -> None:
    """They have no effect here, and programs find what they gave."""
    given: dict[Any, dict[str, Any]] = {
        engine: {
            "stream_policy": engine.StreamPolicy[policy] if policy else None,
            "concurrency": engine.OperatorConcurrency[concurrency] if concurrency else None,
        }
        for engine in (dali_lab, dali)
    }
    data = {}
    for engine, options in given.items():
        pipeline = engine.Pipeline(2, 1, None, exec_dynamic=True, **options)
        with pipeline:
            pipeline.set_outputs(engine.fn.zeros(shape=[1]))
        assert (pipeline.stream_policy, pipeline.concurrency) == tuple(options.values())
        data[engine] = pipeline.serialize()
    ours, theirs = (dali_proto.messages().PipelineDef.FromString(data[engine]) for engine in (dali_lab, dali))
    assert ours.executor_flags == theirs.executor_flags
    for name, value in given[dali_lab].items():
        for source in data.values():
            assert value is None or getattr(dali_lab.Pipeline.deserialize(source), name) is value
    with pytest.raises(TypeError, match="stream_policy"):
        dali_lab.Pipeline(2, 1, None, stream_policy="SINGLE")  # type: ignore[arg-type]
