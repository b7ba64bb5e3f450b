"""Seeds of operators compared with NVIDIA DALI, live: each node's first draw tells which seed it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.graph.seeds import SeedRequest, assign_seeds, pipeline_words, seed_order
from dali_lab.kernels.cpu.draws import fill_uniform
from dali_lab.kernels.seed_sequence import seed_sequence
from dali_lab.kernels.streams import GeneratorState, open_stream

dali = pytest.importorskip("nvidia.dali")
fn = dali.fn


def first_draw(seed: int) -> float:
    out = np.zeros(1, np.float32)
    one = np.ones(1, np.int64)
    bounds = np.zeros(1, np.float32), np.ones(1, np.float32)
    fill_uniform(open_stream(GeneratorState(seed), np.zeros(1, np.int64)), np.array([out.ctypes.data]), one, *bounds)
    return float(out[0])


def draw(**arguments: Any) -> Any:
    return fn.random.uniform(range=[0.0, 1.0], **arguments)


def places(build: Any, *, seed: int = 1234, own: tuple[int, ...] = (), watched: int | None = None) -> list[Any]:
    """For each of the last `watched` outputs of a pipeline, the place of its seed among the pipeline's words."""
    pipe = dali.Pipeline(1, 1, None, seed=seed)
    with pipe:
        outputs = build()
        pipe.set_outputs(*outputs)
    pipe.build()
    known: dict[float, Any] = {first_draw(word): place for place, word in enumerate(pipeline_words(seed))}
    known |= {first_draw(value): f"own {value}" for value in own}
    results = [float(np.ravel(np.array(out.at(0)))[0]) for out in pipe.run()]
    return [known.get(value) for value in results[-watched if watched else 0 :]]


def picture() -> Any:
    return fn.external_source(lambda: [np.zeros((6, 6, 3), np.uint8)], layout="HWC")


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 + 1, 2**40 + 5, 2**63 - 1])
def test_words_are_taken_in_order(seed: int) -> None:
    assert places(lambda: [draw(), draw(), draw()], seed=seed) == [0, 1, 2]


def test_words_wrap_around() -> None:
    assert places(lambda: [draw() for _ in range(1027)], watched=4) == [1023, 0, 1, 2]
    seeds = assign_seeds(1234, [SeedRequest(True)] * 1027)
    assert seeds[1023:] == [pipeline_words(1234)[i] for i in (1023, 0, 1, 2)]


def test_order_follows_outputs_not_creation() -> None:
    def build() -> Any:
        a, b, c, _unused = draw(), draw(), draw(), draw()
        return c + a, b, a, c

    graph = {"sum": ["c", "a"], "a": [], "b": [], "c": [], "unused": []}
    order = seed_order(["sum", "b", "a", "c"], graph.__getitem__)
    assert order == ["c", "a", "sum", "b"]
    assert places(build, watched=3) == [2, 1, 0]


def test_inputs_come_before_arguments_and_those_are_sorted() -> None:
    def build() -> Any:
        y, x = draw(), draw()
        image = fn.noise.gaussian(picture())
        return fn.crop(image, crop_pos_y=y, crop_pos_x=x, crop=[2, 2]), y, x

    assert places(build, watched=2) == [2, 1]


def test_own_seeds_use_up_no_word() -> None:
    assert places(lambda: [draw(), draw(seed=77), draw(), draw(seed=-1)], own=(77, -1)) == [0, "own 77", 1, "own -1"]
    words = pipeline_words(1234)
    requests = [SeedRequest(True), SeedRequest(True, 77), SeedRequest(False), SeedRequest(True), SeedRequest(True, -1)]
    assert assign_seeds(1234, requests) == [words[0], 77, None, words[1], -1]


@pytest.mark.parametrize("own", [None, 9])
def test_input_sets_share_a_seed(own: int | None) -> None:
    def build() -> Any:
        operator = dali.ops.random.Uniform(range=[0.0, 1.0], **({} if own is None else {"seed": own}))
        like = [fn.external_source(lambda: [np.zeros(1, np.float32)]) for _ in range(3)]
        return (*operator(like), draw())

    group = [SeedRequest(True, own, "call")] * 3
    seeds = assign_seeds(1234, [*group, SeedRequest(True)])
    words = pipeline_words(1234)
    if own is None:
        assert places(build) == [0, 0, 0, 3]
        assert seeds == [words[0]] * 3 + [words[3]]
    else:
        assert places(build, own=(own,)) == ["own 9"] * 3 + [0]
        assert seeds == [own] * 3 + [words[0]]


def test_one_operator_object_called_twice_has_two_seeds() -> None:
    def build() -> Any:
        operator = dali.ops.random.Uniform(range=[0.0, 1.0])
        return operator(), operator(), draw()

    assert places(build) == [0, 1, 2]


def test_preserved_nodes_come_after_the_outputs() -> None:
    def build() -> Any:
        draw(preserve=True)
        return draw(), draw()

    assert places(build) == [0, 1]


def test_conditionals() -> None:
    @dali.pipeline_def(enable_conditionals=True, batch_size=1, num_threads=1, device_id=None, seed=1234)
    def pipe() -> Any:
        a = draw()
        b = draw()
        if b >= 0.0:
            out = draw() + a * 0.0
        else:
            out = draw() + b
        return out, a, b

    built = pipe()
    built.build()
    known = {first_draw(word): place for place, word in enumerate(pipeline_words(1234))}
    found = [known.get(float(np.array(out.at(0)))) for out in built.run()]
    # A node without inputs in a branch runs for the whole batch, and its batch is split like any other value.
    graph = {
        "true": [], "false": [], "a": [], "b": [], "check": ["b"], "split true": ["true", "check"],
        "split false": ["false", "check"], "split a": ["a", "check"], "split b": ["b", "check"], "zero": ["split a"],
        "sum true": ["split true", "zero"], "sum false": ["split false", "split b"],
        "merge": ["sum true", "sum false", "check"],
    }  # fmt: skip
    order = [name for name in seed_order(["merge", "a", "b"], graph.__getitem__) if name in ("true", "false", "a", "b")]
    assert found == [order.index("true"), order.index("a"), order.index("b")]


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("reader", lambda: fn.readers.file(files=[__file__], labels=[0])[1]),
        ("gaussian", lambda: fn.noise.gaussian(picture())),
        ("permutation", lambda: fn.batch_permutation()),
        ("resized crop", lambda: fn.random_resized_crop(picture(), size=[2, 2])),
        ("choice", lambda: fn.random.choice(5)),
    ],
)
def test_other_operators_use_up_one_word(name: str, build: Any) -> None:
    assert places(lambda: [build(), draw()], watched=1) == [1]


@pytest.mark.parametrize(
    "build", [lambda: fn.flip(picture()), lambda: fn.crop(picture(), crop=[2, 2]), lambda: picture() + 1]
)
def test_operators_without_seed_use_up_none(build: Any) -> None:
    assert places(lambda: [build(), draw()], watched=1) == [0]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6, 7, 38, 39, 67, 68, 622, 623, 700])
def test_seed_sequence_of_any_length(count: int) -> None:
    words = seed_sequence(5, count)
    assert len(words) == count
    assert all(0 <= word < 2**32 for word in words)


def test_seed_order_of_a_deep_graph() -> None:
    depth = 20_000
    order = seed_order(["0"], lambda name: [str(int(name) + 1)] if int(name) < depth else [])
    assert order == [str(i) for i in range(depth, -1, -1)]


def test_generator_state_is_read_and_printed() -> None:
    state = GeneratorState(2**64 - 3, 12345678901, 17, 3)
    assert GeneratorState.parse(str(state)) == state
    with pytest.raises(ValueError, match="not the state"):
        GeneratorState.parse("Philox_1_2_3")
