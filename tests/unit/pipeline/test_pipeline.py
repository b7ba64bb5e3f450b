# ruff: noqa: PT012, PT017, PT031  (what is raised comes out of loops and of definitions)
"""The pipeline's arguments and methods mean what they mean in NVIDIA DALI."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import DaliLabError, Pipeline, fn, pipeline_def, types
from dali_lab.model.errors import DeviceError

try:
    import nvidia.dali as oracle
    import nvidia.dali.fn  # noqa: F401
except ImportError:
    oracle = None


def counting(engine: Any = dali_lab, calls: list[int] | None = None, stop: int | None = None, **settings: Any) -> Any:
    """A pipeline whose batches hold their own number."""

    def source(index: int) -> np.ndarray:
        if stop is not None and index >= stop:
            raise StopIteration
        if calls is not None:
            calls.append(index)
        return np.full((2, 1), index, np.int32)

    pipeline = engine.Pipeline(**{"batch_size": 2, "num_threads": 2, "device_id": None, **settings})
    with pipeline:
        pipeline.set_outputs(engine.fn.external_source(source=source))
    return pipeline


def number(outputs: Any) -> int:
    return int(outputs[0].at(0)[0])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"prefetch_queue_depth": 4},
        {"exec_pipelined": False},
        {"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 1}},
        {"exec_async": False, "exec_pipelined": False},
        {"exec_dynamic": False},
    ],
)
def test_as_many_batches_are_kept_ahead_as_in_dali(settings: dict[str, Any]) -> None:
    rows = []
    for engine in [dali_lab] if oracle is None else [dali_lab, oracle]:
        calls: list[int] = []
        pipeline = counting(engine, calls, **settings)
        row = []
        for _ in range(4):
            value = number(pipeline.run())
            row.append((value, len(calls)))
        rows.append(row)
    assert [value for value, _ in rows[0]] == [0, 1, 2, 3]
    assert rows[0] == rows[-1]


def test_the_end_and_the_next_epoch() -> None:
    pipeline = counting(stop=3)
    for _ in range(3):
        assert [number(pipeline.run()) for _ in range(3)] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(StopIteration):
                pipeline.run()
        assert pipeline.empty()
        pipeline.reset()
    pipeline.reset()
    assert number(pipeline.run()) == 0
    pipeline.reset()
    assert number(pipeline.run()) == 1, "a reset in mid-epoch does nothing"


def test_scheduled_running() -> None:
    pipeline = counting(prefetch_queue_depth=3)
    pipeline.schedule_run()
    assert not pipeline.empty()
    seen = []
    for _ in range(5):
        seen.append(number(pipeline.share_outputs()))
        pipeline.release_outputs()
        pipeline.schedule_run()
    assert seen == [0, 1, 2, 3, 4]
    assert number(pipeline.outputs()) == 5
    with pytest.raises(RuntimeError, match="SCHEDULED"):
        pipeline.run()


def test_iterators_of_programs_fill_the_queue_before_each_batch() -> None:
    rows = []
    for engine in [dali_lab] if oracle is None else [dali_lab, oracle]:
        pipeline, row = counting(engine, prefetch_queue_depth=3), []
        for _ in range(5):
            pipeline._prefetch()
            row.append(number(pipeline.share_outputs()))
            pipeline.release_outputs()
            pipeline.schedule_run()
        rows.append(row)
    assert rows[0] == rows[-1] == [0, 1, 2, 3, 4]


def test_iter_setup_feeds_the_inputs() -> None:
    class Fed(Pipeline):
        def __init__(self) -> None:
            super().__init__(2, 1, None, prefetch_queue_depth=3)
            self.input = dali_lab.ops.ExternalSource()
            self.count = 0

        def define_graph(self) -> Any:
            self.node = self.input()
            return self.node

        def iter_setup(self) -> None:
            if self.count == 5:
                raise StopIteration
            self.feed_input(self.node, np.full((2, 1), self.count))
            self.count += 1

    pipeline = Fed()
    assert [number(pipeline.run()) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(StopIteration):
        pipeline.run()


def test_subclasses_define_graphs() -> None:
    class Simple(Pipeline):
        def define_graph(self) -> Any:
            return fn.external_source(source=lambda: np.ones((2, 1))), 7

    one, seven = Simple(2, 1, None).run()
    assert one.as_array().tolist() == [[1.0], [1.0]] and np.asarray(seven.at(0)).tolist() == 7


def test_outputs_are_checked() -> None:
    for settings, words in [
        (
            {"output_dtype": types.FLOAT},
            "Expected: float. Received: int32",
        ),
        ({"output_ndim": 3}, "Number of dimensions in the output_idx=0"),
        ({"output_layout": "HWC"}, "Layout in the output_idx=0"),
        ({"output_dtype": [types.FLOAT, types.UINT8]}, r"Expected num_outputs=1\. Received: output_dtype="),
    ]:
        with pytest.raises(RuntimeError, match=words):
            counting(**settings).run()
    pipeline = counting(output_dtype=types.INT32, output_ndim=[1])
    pipeline.run()
    assert (pipeline.num_outputs, pipeline.output_dtype(), pipeline.output_ndim()) == (1, [types.INT32], [1])
    for settings in ({"output_dtype": "uint8"}, {"output_ndim": "3"}, {"output_layout": 3}):
        with pytest.raises(TypeError):
            counting(**settings)


def test_pipeline_def_sorts_arguments() -> None:
    @pipeline_def(batch_size=5, num_threads=3)
    def plain(value: int, *, other: int = 2) -> Any:
        """Says what it is."""
        assert Pipeline.current() is not None and Pipeline.current().max_batch_size in (4, 5)
        return types.Constant(value), types.Constant(other)

    pipeline = plain(1, other=9, batch_size=4)
    assert (pipeline.max_batch_size, pipeline.num_threads) == (4, 3)
    assert [len(out) for out in pipeline.run()] == [4, 4]
    assert plain.__doc__ == "Says what it is." and plain(1).max_batch_size == 5
    with pytest.raises(dali_lab.DaliLabError, match="did you mean 'batch_size'"):
        plain(1, batchsize=4)

    @pipeline_def
    def shadowing(device_id: int) -> Any:
        return types.Constant(device_id)

    with pytest.warns(UserWarning, match="device_id"):
        pipeline = shadowing(device_id=6, batch_size=1, num_threads=1)
    assert pipeline.device_id is None and int(pipeline.run()[0].at(0)) == 6

    @pipeline_def
    def greedy(**options: Any) -> Any:
        return types.Constant(1)

    with pytest.raises(TypeError, match="options"):
        greedy(batch_size=1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"num_threads": 2.5}, "num_threads"),
        ({"prefetch_queue_depth": 0}, "prefetch_queue_depth"),
        ({"prefetch_queue_depth": {"cpu": 2}}, "cpu_size"),
        ({"prefetch_queue_depth": {"cpu_size": 2, "gpu_size": 2}, "exec_async": False}, "exec_async"),
        ({"seed": "x"}, "seed"),
        ({"py_start_method": "thread"}, "py_start_method"),
        ({"gpu": "yes"}, "gpu"),
    ],
)
def test_wrong_arguments(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        Pipeline(**{"batch_size": 1, "num_threads": 1, **settings})


def test_wrong_definitions() -> None:
    with pytest.raises(NotImplementedError, match="define_graph"):
        Pipeline(1, 1, None).run()
    with pytest.raises(dali_lab.DaliLabError, match="batch_size"):
        pipeline = Pipeline(num_threads=1)
        with pipeline:
            pipeline.set_outputs(types.Constant(1))
        pipeline.run()
    nested, text = Pipeline(1, 1, None), Pipeline(1, 1, None)
    with nested:
        nested.set_outputs(types.Constant(1), [fn.constant(fdata=[1.0]), 2])
    with pytest.raises(TypeError, match="The output 1 contains a nested `DataNode`"):
        nested.build()
    text.set_outputs("text")
    with pytest.raises(TypeError, match="The output 0 is a `<class 'str'>`"):
        text.build()
    first, second = Pipeline(1, 1, None), Pipeline(1, 1, None)
    with first:
        node = fn.external_source(name="x")
    with second, pytest.raises(dali_lab.DaliLabError, match="another pipeline"):
        fn.flip(node)
    with pytest.raises(TypeError, match="not iterable"):
        list(node)


def test_unknown_inputs_and_readers() -> None:
    pipeline = Pipeline(2, 1, None)
    with pipeline:
        pipeline.set_outputs(fn.external_source(name="images"))
    with pytest.raises(KeyError, match=r"did you mean .*images"):
        pipeline.run(image=np.zeros((1, 1)))
    with pytest.raises(RuntimeError, match="Operator Reader not found or does not expose valid metadata; readers"):
        pipeline.epoch_size("Reader")
    assert pipeline.epoch_size() == {} and pipeline.reader_meta() == {}
    assert number(pipeline.run(images=np.ones((1, 1)))) == 1, "the pipeline is still usable"


def test_a_failed_batch_leaves_the_pipeline_usable() -> None:
    pipeline = Pipeline(2, 2, None)
    with pipeline:
        source = fn.external_source(
            source=lambda i: [np.full((4, 4, 3) if i != 2 else (2, 2, 3), i, np.uint8)] * 2, layout="HWC"
        )
        pipeline.set_outputs(fn.crop(source, crop=(4, 4)))
    seen: list[Any] = []
    for _ in range(5):
        try:
            seen.append(int(pipeline.run()[0].at(0)[0, 0, 0]))
        except dali_lab.DaliLabError as error:
            assert "crop" in str(error) and "test_pipeline.py:" in str(error)
            seen.append("error")
    assert seen == [0, 1, "error", 3, 4]


def no_gpu(mode: str, index: int = 0) -> None:
    raise DeviceError("there is no GPU here")


def test_nodes_are_moved_to_the_cpu_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dali_lab.executor.placement.find_device", no_gpu)
    monkeypatch.delenv("DALI_LAB_GPU", raising=False)

    def make(**settings: Any) -> Pipeline:
        pipeline = Pipeline(2, 1, 0, **settings)
        with pipeline:
            images = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC")
            pipeline.set_outputs(fn.flip(images.gpu(), name="mirror"), images.gpu())
        return pipeline

    with pytest.warns(UserWarning, match="mirror") as caught:
        pipeline = make()
        outputs = [pipeline.run() for _ in range(3)][-1]
    assert len(caught) == 1
    assert outputs[0].as_cpu().as_array().shape == (2, 4, 4, 3)
    with pytest.raises(dali_lab.DaliLabError, match="mirror"):
        make(gpu="require").build()
    monkeypatch.setenv("DALI_LAB_GPU", "require")
    with pytest.raises(dali_lab.DaliLabError, match="mirror"):
        make().build()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(gpu="never").run()


def test_a_warning_names_some_of_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dali_lab.executor.placement.find_device", no_gpu)
    monkeypatch.delenv("DALI_LAB_GPU", raising=False)
    pipeline = Pipeline(2, 1, 0)
    with pipeline:
        node = fn.external_source(name="input").gpu()
        for index in range(30):
            node = fn.flip(node, name=f"turn{index}", vertical=index % 2)
        pipeline.set_outputs(node)
    with pytest.warns(UserWarning, match=r"CPU: turn0 \(gpu\), .*turn11 \(gpu\) and 18 more\. Set"):
        pipeline.build()


def test_statistics() -> None:
    pipeline = counting(enable_memory_stats=True, prefetch_queue_depth=1)
    for _ in range(3):
        pipeline.run()
    (entry,) = pipeline.executor_statistics().values()
    assert entry["real_memory_size"] == [8] and entry["max_real_memory_size"] == [4] and entry["samples"] == 6


def test_sinks_are_run() -> None:
    calls: list[int] = []
    pipeline = Pipeline(1, 1, None)
    with pipeline:
        pipeline.add_sink(fn.external_source(source=lambda i: calls.append(i) or np.zeros((1, 1))))
        pipeline.set_outputs(types.Constant(3))
    pipeline.run()
    assert calls


def test_from_graph_runs_the_same() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def program() -> Any:
        return fn.flip(fn.external_source(source=lambda i: np.full((2, 2, 2, 1), i, np.uint8)))

    again = Pipeline.from_graph(program().graph, num_threads=3)
    assert again.num_threads == 3 and int(again.run()[0].at(0)[0, 0, 0]) == 0
    with pytest.raises(dali_lab.DaliLabError, match="num_threads"):
        Pipeline.from_graph(program().graph, num_thread=3)


def test_samples_of_other_dimensions_are_named() -> None:
    """Where they come in different chunks, too."""

    def packed(array: np.ndarray) -> np.ndarray:
        file = io.BytesIO()
        np.save(file, array)
        return np.frombuffer(file.getvalue(), np.uint8)

    files = [packed(np.zeros((2, 3) if index < 10 else (2, 3, 1), np.float32)) for index in range(16)]
    with Pipeline(16, 2, None) as pipeline:
        pipeline.set_outputs(fn.decoders.numpy(fn.external_source(lambda: files)))
    with pytest.raises(DaliLabError, match=r"fn\.decoders\.numpy.*sample 10: has 3 dimensions"):
        pipeline.run()


def test_a_pipeline_without_settings_takes_those_of_what_it_reads() -> None:
    pipeline = Pipeline(3, 2, None, seed=12)
    with pipeline:
        pipeline.set_outputs(fn.random.uniform())
    stored = pipeline.serialize()
    expected = pipeline.run()[0].as_array().tolist()
    for _ in range(2):
        read = Pipeline()
        read.deserialize_and_build(stored)
        assert (read.seed, read.max_batch_size) == (12, 3)
        assert read.run()[0].as_array().tolist() == expected


def test_descriptions_of_more_outputs_than_there_are_cannot_be_written() -> None:
    pipeline = Pipeline(1, 1, None, output_ndim=[0, 0])
    with pipeline:
        pipeline.set_outputs(fn.random.uniform())
    with pytest.raises(RuntimeError, match="Lengths of provided output descriptions do not match"):
        pipeline.serialize()


@pytest.mark.parametrize("threads", [0, -1, -5])
def test_a_pipeline_without_threads_can_be_serialized_alone(threads: int) -> None:
    pipeline = Pipeline(batch_size=1, num_threads=threads, device_id=None)
    with pipeline:
        pipeline.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    text = pipeline.serialize()
    with pytest.raises(ValueError, match="Pipeline created with `num_threads` < 1 can only be used for serialization"):
        pipeline.run()
    assert Pipeline.deserialize(text, num_threads=2).run()


def test_batches_without_samples_have_no_type() -> None:
    pipeline = Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipeline:
        numbers = fn.external_source(name="numbers")
        pipeline.set_outputs(numbers, numbers + 1, fn.cast(numbers, dtype=types.FLOAT))
    for given in ([], [np.zeros((2, 3), np.int16)], []):
        pipeline.feed_input("numbers", given)
        for output, dtype in zip(pipeline.run(), (types.INT16, types.INT32, types.FLOAT), strict=True):
            assert (len(output), output.dtype) == (len(given), dtype if given else types.NO_TYPE)
            assert output.as_array().shape[0] == len(given)


def test_unused_outputs_of_a_source_are_a_warning() -> None:
    def source() -> tuple[np.ndarray[Any, Any], ...]:
        return np.zeros(2), np.ones(2), np.ones(3)

    pipeline = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipeline:
        first, _unused, _ = fn.external_source(source=source, num_outputs=3, batch=False)
        pipeline.set_outputs(first)
    with pytest.warns(UserWarning, match=r"produces 3 outputs, but the outputs at the indices 1, 2 are not used"):
        pipeline.build()


def test_calling_the_type_of_a_tensor_warns() -> None:
    formats = {np.float32: "=f", np.float16: "=e", np.int64: "=q", np.uint64: "=Q", np.bool_: "=?", np.uint8: "=B"}
    for dtype, expected in formats.items():
        with pytest.warns(DeprecationWarning, match=r"please use '\.dtype' instead"):
            assert dali_lab.tensors.TensorCPU(np.zeros(2, dtype)).dtype() == expected
