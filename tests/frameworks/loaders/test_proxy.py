# ruff: noqa: PT017, PYI024  (what is raised comes out of loops and of definitions)
"""The DALI proxy: DataLoader workers, forked or spawned, feed one pipeline; what fails raises and does not hang."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import Dataset, default_collate  # noqa: E402

from dali_lab import Pipeline, fn, types  # noqa: E402
from dali_lab.plugin.pytorch.experimental import proxy as dali_proxy  # noqa: E402
from tests.programs import LIMIT  # noqa: E402


def flipping(batch_size: int = 4, **settings: Any) -> Pipeline:
    pipeline = Pipeline(batch_size, 2, None, **settings)
    with pipeline:
        images = fn.external_source(name="images", layout="HWC")
        pipeline.set_outputs(fn.flip(images))
    return pipeline


def image(index: int) -> np.ndarray:
    return np.full((3, 4, 3), index, np.uint8) + np.arange(4, dtype=np.uint8)[None, :, None]


class Images(Dataset):
    """Pairs of an image that went through `transform` and its index; some do harm on the way."""

    def __init__(self, transform: Any, size: int = 22, harm: str = "") -> None:
        self.transform, self.size, self.harm = transform, size, harm

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        if self.harm == "kill" and index == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.harm == "raise" and index == 9:
            raise KeyError("the cat is out")
        if self.harm == "shape" and index == 9:
            return self.transform(np.zeros((3, 4), np.uint8)), index
        return self.transform(image(index)), index


@pytest.mark.parametrize(
    ("method", "deterministic"), [("fork", False), ("fork", True), ("spawn", True), (None, False), (None, True)]
)
def test_workers(method: str | None, deterministic: bool) -> None:
    with dali_proxy.DALIServer(flipping(), deterministic=deterministic) as server:
        loader = dali_proxy.DataLoader(
            server,
            Images(server.proxy),
            batch_size=4,
            num_workers=2 if method else 0,
            multiprocessing_context=method,
        )
        for _ in range(1 if method == "spawn" else 2):  # those that start afresh import torch each time
            seen = []
            for images, indices in loader:
                for picture, index in zip(images, indices.tolist(), strict=True):
                    np.testing.assert_array_equal(picture.numpy(), image(index)[:, ::-1])
                    seen.append(index)
            assert seen == list(range(22))


def loop(server: Any) -> Any:
    return dali_proxy.DataLoader(server, Images(server.proxy), batch_size=4, num_workers=1)


def test_torch_s_own_loader_and_early_break() -> None:
    with dali_proxy.DALIServer(flipping()) as server:
        for _ in range(3):
            loader = torch.utils.data.DataLoader(Images(server.proxy), batch_size=4, num_workers=2)
            for number, data in enumerate(loader):
                images, indices = server.produce_data(data)
                assert images.shape == (4, 3, 4, 3) and indices[0] == 4 * number
                if number == 2:
                    break
        del loader, data
        for _ in loop(server):
            pass
        assert len(server._board.outputs) <= 4, "what loops left behind early is dropped"
    assert not [thread for thread in threading.enumerate() if thread.name == "dali-proxy-run"]


def adding() -> Pipeline:
    pipeline = Pipeline(4, 1, None)
    with pipeline:
        a, b = fn.external_source(name="a"), fn.external_source(name="b")
        pipeline.set_outputs(a + b, a - b)
    return pipeline


def test_several_inputs_and_outputs_without_a_loader() -> None:
    rng = np.random.default_rng(0)
    with dali_proxy.DALIServer(adding()) as server:
        rows = []
        for _ in range(4):
            a, b = rng.random((2, 3), np.float32), rng.random((2, 3), np.float32)
            rows.append((a, b, *server.proxy(a=a, b=b)))
        a, b, total, difference = server.produce_data(default_collate(rows))
        torch.testing.assert_close(total, a + b)
        torch.testing.assert_close(difference, a - b)
        with pytest.raises(ValueError, match=r"Expected signature is: \(\*, a, b\)\. Got: "):
            server.proxy(a)


Pair = namedtuple("Pair", "x y")


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.me = self


def test_any_structure() -> None:
    with dali_proxy.DALIServer(flipping()) as server:
        reference = default_collate([server.proxy(image(i)) for i in range(3)])
        box = Box(reference)
        made = server.produce_data(
            {"a": [reference, 3], "b": Pair(reference, (reference, None)), "c": box, "d": "text"}
        )
    assert made["a"][0].shape == (3, 3, 4, 3) and made["a"][1] == 3
    assert made["b"].x is made["b"].y[0] is made["a"][0] is box.value
    assert isinstance(made["b"], Pair) and made["c"].me is box and made["d"] == "text"


def worker_dies() -> None:
    with dali_proxy.DALIServer(flipping()) as server:
        loader = dali_proxy.DataLoader(server, Images(server.proxy, harm="kill"), batch_size=4, num_workers=2)
        status = 3
        try:
            list(loader)
        except RuntimeError as error:
            status = 0 if "exited unexpectedly" in str(error) or "killed by signal" in str(error) else 2
    os._exit(status)  # the server has ended


def test_a_worker_that_dies_raises_in_the_loop() -> None:
    """In a process of its own: PyTorch raises from a signal handler, wherever the main thread is at that moment."""
    process = multiprocessing.get_context("spawn").Process(target=worker_dies)
    process.start()
    process.join(LIMIT)
    alive = process.is_alive()
    process.kill()
    assert not alive and process.exitcode == 0


@pytest.mark.parametrize("workers", [0, 1])
def test_a_sample_that_raises_concerns_its_batch_alone(workers: int) -> None:
    with dali_proxy.DALIServer(flipping()) as server:
        loader = iter(
            dali_proxy.DataLoader(server, Images(server.proxy, harm="raise"), batch_size=4, num_workers=workers)
        )
        seen: list[Any] = []
        for _ in range(4):
            try:
                images, indices = next(loader)
                np.testing.assert_array_equal(images[0].numpy(), image(int(indices[0]))[:, ::-1])
                seen.append(indices.tolist())
            except KeyError:
                seen.append("error")
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], "error", [12, 13, 14, 15]]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_that_fails_concerns_itself_alone(workers: int) -> None:
    with dali_proxy.DALIServer(flipping()) as server:
        loader = iter(
            dali_proxy.DataLoader(server, Images(server.proxy, harm="shape"), batch_size=4, num_workers=workers)
        )
        seen: list[Any] = []
        for _ in range(5):
            try:
                seen.append(next(loader)[1].tolist()[0])
            except RuntimeError as error:
                assert "dimensions" in str(error)
                seen.append("error")
    assert seen == [0, 4, "error", 12, 16]


def test_batches_that_wait_behind_a_failed_one_get_their_own_outputs() -> None:
    pipeline = Pipeline(1, 1, None)
    with pipeline:
        pipeline.set_outputs(fn.copy(fn.external_source(name="numbers")))
    server = dali_proxy.DALIServer(pipeline)

    def ask(index: int) -> Any:
        return default_collate([server.proxy(np.array([index], np.float32 if index == 1 else np.int32))])

    waiting = [ask(index) for index in range(5)]
    with server:
        outputs: list[Any] = []
        for asked in [*waiting, ask(5)]:
            try:
                outputs.append(int(server.produce_data(asked)))
            except RuntimeError as error:
                assert "has changed" in str(error)
                outputs.append("error")
    assert outputs == [0, "error", 2, 3, 4, 5]


def test_a_batch_that_is_too_large() -> None:
    with dali_proxy.DALIServer(flipping(2)) as server:
        loader = dali_proxy.DataLoader(server, Images(server.proxy), batch_size=4, num_workers=1)
        with pytest.raises(RuntimeError, match="Expected batch_size <= 2"):
            next(iter(loader))


def test_a_server_that_is_not_running() -> None:
    server = dali_proxy.DALIServer(flipping())
    data = default_collate([server.proxy(image(1))])
    with pytest.raises(RuntimeError, match="not running"):
        server.produce_data(data)
    loader = dali_proxy.DataLoader(server, Images(server.proxy), batch_size=4, num_workers=1)
    assert next(iter(loader))[0].shape == (4, 3, 4, 3)
    del loader


def test_wrong_pipelines() -> None:
    with pytest.raises(TypeError, match="Expected an NVIDIA DALI pipeline, got: 3"):
        dali_proxy.DALIServer(3)  # type: ignore[arg-type]
    pipeline = Pipeline(1, 1, None)
    with pipeline:
        pipeline.set_outputs(types.Constant(1))
    with pytest.raises(RuntimeError, match="provided pipeline doesn't have any inputs"):
        dali_proxy.DALIServer(pipeline)
