# ruff: noqa: PT012  (what is raised comes out of loops and of definitions)
"""A pipeline that is restored goes on with exactly the batches of the run that was not interrupted."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.formats.dali.messages import messages
from tests.files import numbered_files
from tests.programs import run_python

PROGRAM = """
import sys
import numpy as np
from dali_lab import Pipeline, fn
from dali_lab.formats.dali.messages import messages

def source(info):
    if info.idx_in_epoch >= 1000:
        raise StopIteration
    return np.array([info.idx_in_epoch, info.iteration, info.epoch_idx])

def make(folder, threads=2, checkpoint=None, seed=None, batch_size=3, parallel=False, depth=2):
    pipeline = Pipeline(batch_size, threads, None, seed=seed, enable_checkpointing=True, checkpoint=checkpoint,
                        prefetch_queue_depth=depth, py_num_workers=2)
    with pipeline:
        data, label = fn.readers.file(file_root=folder, name="Reader", random_shuffle=True, initial_fill=4,
                                      num_shards=2, shard_id=1)
        index = fn.external_source(source=source, batch=False, parallel=parallel)
        uniform = fn.random.uniform(range=[0.0, 1.0])
        normal = fn.random.normal(seed=11)
        pipeline.set_outputs(data, label, index, uniform, normal, fn.random.coin_flip())
    return pipeline

def take(pipeline, count):
    rows = []
    for _ in range(count):
        rows.append([[np.asarray(out.at(i)).tolist() for i in range(len(out))] for out in pipeline.run()])
    return rows
"""
namespace: dict[str, Any] = {}
exec(PROGRAM, namespace)
make, take = namespace["make"], namespace["take"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("files")
    numbered_files(root, 19, classes=3, ending=".jpg")
    return str(root)


@pytest.mark.parametrize("consumed", [0, 1, 4, 7, 20])
@pytest.mark.parametrize("parallel", [False, True])
def test_the_next_batches_are_those_of_the_whole_run(folder: str, consumed: int, parallel: bool) -> None:
    whole = make(folder, parallel=parallel)
    take(whole, consumed)
    saved = whole.checkpoint()
    expected = take(whole, 12)
    assert take(make(folder, 4, saved, parallel=parallel, depth=5), 12) == expected
    assert take(make(folder, 1, saved, depth=1), 12) == expected
    again = make(folder, 2, saved)
    assert take(again, 3) == expected[:3]
    assert take(make(folder, 3, again.checkpoint()), 9) == expected[3:]
    assert again.is_restored_from_checkpoint and not whole.is_restored_from_checkpoint


def test_after_a_kill_in_another_process(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.bin"
    text = f"""{PROGRAM}
import json, os, signal
pipeline = make({folder!r})
take(pipeline, 5)
pipeline.checkpoint({str(file)!r})
print(json.dumps(take(pipeline, 6)), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run_python("-c", text, status=-signal.SIGKILL)
    assert json.loads(json.dumps(take(make(folder, 3, file.read_bytes()), 6))) == json.loads(done.stdout)


def ending(checkpoint: bytes | None = None) -> Pipeline:
    def source(index: int) -> np.ndarray:
        if index >= 3:
            raise StopIteration
        return np.full((2, 1), index)

    pipeline = Pipeline(2, 1, None, seed=3, enable_checkpointing=True, checkpoint=checkpoint)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source=source), fn.random.uniform())
    return pipeline


def epochs(pipeline: Pipeline, count: int) -> list[Any]:
    rows: list[Any] = []
    while len(rows) < count:
        try:
            index, number = pipeline.run()
            rows.append((int(index.at(0)[0]), float(number.at(0))))
        except StopIteration:
            rows.append("end")
            pipeline.reset()
    return rows


@pytest.mark.parametrize("consumed", range(10))
def test_across_epochs(consumed: int) -> None:
    whole = ending()
    epochs(whole, consumed)
    saved = whole.checkpoint()
    assert epochs(ending(saved), 9) == epochs(whole, 9)


def test_between_the_end_and_the_reset() -> None:
    whole = ending()
    epochs(whole, 3)
    with pytest.raises(StopIteration):
        whole.run()
    restored = ending(whole.checkpoint())
    with pytest.raises(StopIteration):
        restored.run()
    whole.reset()
    restored.reset()
    assert epochs(restored, 5) == epochs(whole, 5)


def test_conditionals(folder: str) -> None:
    @dali_lab.pipeline_def(batch_size=5, num_threads=2, enable_conditionals=True, enable_checkpointing=True, seed=4)
    def program() -> Any:
        x = fn.external_source(source=lambda i: np.full((5, 4, 4, 1), i, np.uint8), layout="HWC")
        if fn.random.coin_flip(dtype=dali_lab.types.BOOL):
            x = fn.noise.gaussian(x, stddev=20.0) if hasattr(fn, "noise") else x
        return x, fn.random.uniform()

    whole = program()
    take(whole, 3)
    saved = whole.checkpoint()
    expected = take(whole, 4)
    assert take(program(checkpoint=saved, num_threads=4), 4) == expected


def test_sources_without_an_index_are_warned_about() -> None:
    pipeline = Pipeline(2, 1, None, enable_checkpointing=True)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source=[np.zeros((2, 1))] * 9))
    with pytest.warns(UserWarning, match="doesn't capture state of such 'source'"):
        pipeline.run()


def test_wrong_checkpoints(folder: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match="enable_checkpointing"):
        pipeline = Pipeline(1, 1, None)
        with pipeline:
            pipeline.set_outputs(fn.random.uniform())
        pipeline.checkpoint()
    good = ending().checkpoint()
    for garbage in (
        b"",
        b"\x80\x04N.",
        b"[]",
        b'{"format": "other"}',
        good[:-5],
        good.replace(b'"version":1', b'"version":9'),
    ):
        with pytest.raises(dali_lab.DaliLabError, match="checkpoint"):
            ending(garbage).run()
    with pytest.raises(dali_lab.DaliLabError, match="another pipeline"):
        make(folder, 1, good).build()
    message = messages().Checkpoint.FromString(good)
    own = json.loads(message.dali_lab)
    message.dali_lab = json.dumps({**own, "drawn": 3}).encode()
    with pytest.raises(dali_lab.DaliLabError, match="damaged"):
        ending(message.SerializeToString()).build()


@pytest.mark.parametrize(
    "change",
    [
        lambda entries, data: data.update(iter=-1),
        lambda entries, data: data.update(iter=None),
        lambda entries, data: entries.update(Reader=b"\x0a\x04\x0a\x02no"),
        lambda entries, data: entries.update(Reader=b"\xff"),
        lambda entries, data: entries.update(Reader=b"\x0a\x06\x0a\x010\x18\x01"),
        lambda entries, data: entries.update(normal=b"Philox_1"),
        lambda entries, data: entries.update(normal=b"\xff\xff"),
        lambda entries, data: entries.pop("Reader"),
        lambda entries, data: entries.clear(),
    ],
)
def test_damaged_checkpoints_of_nvidia_dali_are_refused(folder: str, change: Any) -> None:
    whole = make(folder)
    message = messages().Checkpoint.FromString(whole.checkpoint())
    entries = {entry.operator_name: entry.operator_state for entry in message.cpts}
    entries["normal"] = entries.pop("__Normal_2")
    data = json.loads(message.external_ctx_cpt.pipeline_data)
    change(entries, data)
    del message.cpts[:]
    for name, state in entries.items():
        message.cpts.add(operator_name=name if name != "normal" else "__Normal_2", operator_state=state)
    message.external_ctx_cpt.pipeline_data = json.dumps(data).encode()
    message.ClearField("dali_lab")
    with pytest.raises(dali_lab.errors.FormatError, match="checkpoint"):
        make(folder, 1, message.SerializeToString()).build()
