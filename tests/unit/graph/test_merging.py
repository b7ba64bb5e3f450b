"""Equal nodes are run once, and nothing else changes."""

from __future__ import annotations

import numpy as np

from dali_lab import Pipeline, fn, pipeline_def
from dali_lab.graph.passes.merging import merge_equal


def _merged(pipe: Pipeline) -> set[str]:
    graph = pipe.graph
    return set(graph.nodes) - set(merge_equal(graph, pipe._dali_names).nodes)


def test_equal_nodes_are_merged() -> None:
    """Chains of equal nodes, constants and seeded random numbers, over nodes that are merged themselves."""
    with Pipeline(batch_size=2, device_id=None) as pipe:
        data = fn.external_source(source=lambda: np.zeros((2, 3), np.uint8), batch=True)
        first = fn.cast(data, dtype="float") + 1
        second = fn.cast(data, dtype="float") + 1
        drawn, again = fn.random.uniform(seed=3), fn.random.uniform(seed=3)
        pipe.set_outputs(first, second, drawn, again)
    assert {node.op for node in map(pipe.graph.nodes.get, _merged(pipe)) if node} == {
        "cast", "math.add", "random.uniform",
    }  # fmt: skip
    one, two, three, four = pipe.run()
    assert one.data_ptr() == two.data_ptr()
    assert three.data_ptr() == four.data_ptr()


def test_nodes_that_stay_apart() -> None:
    """Names, seeds, types of arguments, sources, functions and preserved nodes."""
    with Pipeline(batch_size=2, device_id=None, seed=1) as pipe:
        pairs = [fn.random.uniform() for _ in range(2)]
        pairs += [fn.external_source(source=lambda: np.zeros((2, 3), np.uint8), batch=True) for _ in range(2)]
        one = fn.constant(idata=1, name="given")
        pairs += [fn.python_function(one, function=np.square) for _ in range(2)]
        pairs += [fn.constant(idata=2, preserve=True) for _ in range(2)]
        pairs += [fn.constant(fdata=[1.0], name=name) for name in ("left", "right")]
        pairs += [fn.constant(idata=1, dtype=dtype) for dtype in ("int32", "int64")]
        pairs += [fn.random.uniform(seed=seed) for seed in (4, 5)]
        pipe.set_outputs(*pairs)
    assert not _merged(pipe)


def test_merged_nodes_change_no_other_numbers() -> None:
    """Other random nodes, branches of conditions and checkpoints are as without merging."""

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=7, enable_conditionals=True)
    def program() -> object:
        first, second = fn.random.uniform(range=[0, 1], seed=11), fn.random.uniform(range=[0, 1], seed=11)
        before = fn.random.uniform(range=[0, 1])
        if first > 0.5:
            chosen = first + fn.random.uniform(range=[0, 1], seed=11) + fn.random.uniform(range=[0, 1])
        else:
            chosen = second - fn.random.uniform(range=[0, 1], seed=11)
        return first, second, before, chosen, fn.random.normal()

    merging, plain = program(), program(optimize=False)
    saving = program(enable_checkpointing=True)
    assert _merged(merging)
    for _ in range(3):
        for results in zip(merging.run(), plain.run(), saving.run(), strict=True):
            first, *others = (each.as_array() for each in results)
            for other in others:
                np.testing.assert_array_equal(first, other)
    resumed = program(enable_checkpointing=True, optimize=False, checkpoint=saving.checkpoint())
    for one, other in zip(resumed.run(), plain.run(), strict=True):
        np.testing.assert_array_equal(one.as_array(), other.as_array())
