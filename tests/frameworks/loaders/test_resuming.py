"""Loaders of the PyTorch world go on in mid-epoch with the batches that an uninterrupted run has."""

from __future__ import annotations

import functools
import importlib.util
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import lightning
import numpy as np
import pytest
import torch
import torchdata.nodes as tn

import dali_lab.experimental.dynamic as ndd
from dali_lab import Pipeline, fn
from dali_lab.dynamic.pytorch import nodes
from dali_lab.model.errors import FormatError
from dali_lab.plugin.pytorch.experimental import proxy
from tests.files import numbered_files

COUNT = 23
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return numbered_files(tmp_path_factory.mktemp("files"), COUNT)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(1)
    for index in range(COUNT):
        folder = root / str(index % 2)
        folder.mkdir(exist_ok=True)
        cv2.imwrite(str(folder / f"{index:02}.jpg"), rng.integers(0, 255, (40, 50, 3), np.uint8))
    return str(root)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def taken(batches: Iterator[Any], count: int) -> list[Any]:
    """As many batches, or as there are before the end."""
    rows = []
    for _, batch in zip(range(count), batches, strict=False):
        rows.append([value.tolist() for value in batch])
    return rows


# torchdata.nodes


def nodes_loader(files: list[str], *, prefetch: bool, **arguments: Any) -> tn.Loader[Any]:
    generator = ndd.random.RNG(seed=3)

    def noisy(batch: Any) -> Any:
        return ndd.cast(batch, dtype=ndd.int32) + ndd.random.uniform(range=(0.0, 1.0), rng=generator, batch_size=4)

    reader = nodes.Reader(
        ndd.readers.File, batch_size=4, files=files, random_shuffle=True, initial_fill=9, seed=5, **arguments
    )
    node: Any = nodes.ToTorch(nodes.DictMapper(reader, noisy, rng=generator))
    return tn.Loader(tn.Prefetcher(node, prefetch_factor=3) if prefetch else node)


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("prefetch", [False, True])
def test_a_graph_of_nodes_goes_on_exactly(prefetch: bool, shards: int, files: list[str]) -> None:
    make = functools.partial(nodes_loader, files, prefetch=prefetch, num_shards=shards)
    for after in range(7):
        whole = make()
        before, rest = taken(batches := iter(whole), after), []
        state = json.loads(json.dumps(whole.state_dict()))
        rest = taken(batches, COUNT)
        rest += taken(iter(whole), COUNT)
        fresh = make()
        fresh.load_state_dict(state)
        found = taken(iter(fresh), COUNT)
        found += taken(iter(fresh), COUNT)
        epoch = -(-(COUNT // shards) // 4)
        # Where the state is that of the end of an epoch, torchdata begins the next one at once.
        assert found[: len(rest)] == rest and len(rest) >= epoch, (after, len(before))


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("states", [False, True])
def test_a_whole_epoch_follows_one_that_was_broken_off(prefetch: bool, states: bool, files: list[str]) -> None:
    make = functools.partial(
        nodes_loader, files, prefetch=prefetch, enable_checkpointing=states, stick_to_shard=True, pad_last_batch=True
    )
    whole = make()
    taken(iter(whole), 2)
    batches = iter(whole)
    before = taken(batches, 1)
    state = whole.state_dict()
    rest = taken(batches, COUNT)
    assert {label for _, labels in before + rest for label in np.ravel(labels)} == set(range(COUNT))
    if states:
        fresh = make()
        fresh.load_state_dict(state)
        assert taken(iter(fresh), COUNT) == rest


def test_nodes_have_the_names_and_the_outputs_of_nvidia_dali(files: list[str]) -> None:
    from dali_lab.experimental.dynamic.pytorch.nodes import DictMapper, Reader, ToTorch

    reader = Reader(ndd.readers.File, batch_size=None, files=files)
    assert reader.get_metadata()["epoch_size"] == COUNT
    node = ToTorch(DictMapper(reader, lambda value: value + 1, key="label"))
    rows = [(data.tolist(), label.tolist()) for data, label in node]
    assert rows == [([index], [index + 1]) for index in range(COUNT)]
    named = Reader(ndd.readers.File, batch_size=3, files=files, output_names=["a", "b"])
    assert list(next(named)) == ["a", "b"]
    with pytest.raises(ValueError, match="1 output_names for the 2 outputs"):
        Reader(ndd.readers.File, batch_size=3, files=files, output_names=["a"])
    with pytest.raises(ValueError, match="output_names must be given"):
        Reader(ndd.readers.Numpy, batch_size=3, files=files)
    assert Reader(ndd.readers.File, batch_size=3, files=files, enable_checkpointing=False).state_dict() == {}
    with pytest.raises(ValueError, match="not a state of a reader's node"):
        named.reset({"taken": 3})


# StatefulDataLoader with the proxy


class Numbers(torch.utils.data.Dataset[Any]):
    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.transform(np.full(3, index, np.float32)), index


def proxied(workers: int, *, random: bool = True, deterministic: bool = True, checkpointing: bool = True) -> Any:
    pipeline = Pipeline(4, 2, None, seed=5, enable_checkpointing=checkpointing)
    with pipeline:
        data = fn.external_source(name="numbers")
        pipeline.set_outputs(data + fn.random.uniform(range=(0.0, 0.5)) if random else data * 2)
    return served(pipeline, workers, deterministic)


def served(pipeline: Pipeline, workers: int, deterministic: bool = True) -> Any:
    server = proxy.DALIServer(pipeline, deterministic=deterministic)
    prefetch = 3 if workers else None
    return proxy.StatefulDataLoader(
        server, Numbers(server.proxy), batch_size=4, shuffle=True, num_workers=workers, prefetch_factor=prefetch
    )


@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_with_workers_and_a_proxy_goes_on_exactly(workers: int, random: bool) -> None:
    for after in (0, 2, 6):
        torch.manual_seed(3)
        whole = proxied(workers, random=random, deterministic=random)
        taken(batches := iter(whole), after)
        state = pickle.loads(pickle.dumps(whole.state_dict()))
        rest = taken(batches, COUNT)
        assert len(rest) == 6 - after
        torch.manual_seed(4)
        fresh = proxied(workers, random=random, deterministic=random)
        fresh.load_state_dict(state)
        assert taken(iter(fresh), COUNT) == rest
        whole.dali_server.stop_thread()
        fresh.dali_server.stop_thread()


def with_own_source(deterministic: bool = True) -> Any:
    pipeline = Pipeline(4, 2, None, enable_checkpointing=True)
    with pipeline:
        own = fn.external_source(source=lambda info: np.float32([info.idx_in_epoch]), batch=False)
        pipeline.set_outputs(fn.external_source(name="numbers")[:1] + 100 * own)
    return served(pipeline, 0, deterministic)


def test_the_state_holds_sources_of_the_pipeline_itself() -> None:
    torch.manual_seed(3)
    whole = with_own_source()
    taken(batches := iter(whole), 2)
    state = whole.state_dict()
    # Samples of the sixth batch are three: a source by samples gives as many as are asked for, four.
    rest = taken(batches, 3)
    fresh = with_own_source()
    fresh.load_state_dict(state)
    assert taken(iter(fresh), 3) == rest
    with pytest.raises(ValueError, match="sources of its own"):
        with_own_source(deterministic=False).state_dict()


def test_a_state_that_cannot_be_exact_is_refused() -> None:
    with pytest.raises(ValueError, match="deterministic=True"):
        proxied(0, deterministic=False).state_dict()
    with pytest.raises(ValueError, match="enable_checkpointing=True"):
        proxied(0, checkpointing=False).state_dict()
    with pytest.raises(FormatError, match="not a state of a loader"):
        proxied(0).load_state_dict({})


# Lightning and Accelerate


class Noting(lightning.Callback):
    """Notes each batch and its loss by its number."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[bytes, float]] = {}

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.seen[trainer.global_step] = (batch[0].numpy().tobytes(), outputs["loss"].item())


def test_the_lightning_example_goes_on_in_mid_epoch(pictures: str, tmp_path: Path) -> None:
    training = example("lightning_training")
    how = {"enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": str(tmp_path)}
    whole = Noting()
    training.main([pictures, "--epochs", "3", "--save-every", "1"], callbacks=[whole], accelerator="cpu", **how)
    assert list(whole.seen) == list(range(1, 10))
    for after in (1, 4, 5, 6):  # three batches are an epoch
        (checkpoint,) = tmp_path.rglob(f"*step={after}.ckpt")
        resumed = Noting()
        training.main(
            [pictures, "--epochs", "3", "--resume", str(checkpoint)], callbacks=[resumed], accelerator="cpu", **how
        )
        assert resumed.seen == {step: seen for step, seen in whole.seen.items() if step > after}


@pytest.mark.parametrize("after", [1, 3, 5])
def test_the_accelerate_example_goes_on_in_mid_epoch(after: int, pictures: str, tmp_path: Path) -> None:
    training = example("accelerate_training")
    state = str(tmp_path / "state")
    whole: dict[int, Any] = {}
    resumed: dict[int, Any] = {}

    def note(seen: dict[int, Any], number: int, images: torch.Tensor, loss: float) -> None:
        seen[number] = (images.numpy().tobytes(), loss)

    training.main([pictures, "--save", state, "--save-at", str(after)], functools.partial(note, whole))
    training.main([pictures, "--resume", state], functools.partial(note, resumed))
    assert list(whole) == list(range(6))
    assert resumed == {number: seen for number, seen in whole.items() if number >= after}
