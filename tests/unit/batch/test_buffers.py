"""Memory of batches is reused while a pipeline runs, never by two at once, and given back at the end."""

from __future__ import annotations

import gc
import itertools
import mmap
import os
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from dali_lab import DaliLabError, Pipeline, fn, pipeline_def
from dali_lab.executor.pool import ThreadPool
from dali_lab.model import buffers


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Something that memory is kept for, alone, in a new heap."""
    monkeypatch.setattr(buffers, "_heap", buffers._Heap())
    user = threading.Event()
    buffers.keep_for(user)
    yield user
    buffers.release(user)


def resident(spans: list[tuple[int, int]]) -> int:
    """Bytes of the pages that begin in spans (address and length) and lie in memory."""
    found = 0
    with open("/proc/self/pagemap", "rb") as file:
        for start, size in spans:
            pages = range(-(-start // mmap.PAGESIZE), -(-(start + size) // mmap.PAGESIZE))
            file.seek(pages.start * 8)
            entries = np.frombuffer(file.read(len(pages) * 8), np.uint64)
            found += int((entries >> np.uint64(63)).sum()) * mmap.PAGESIZE
    return found


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("nbytes", [0, 1, buffers.LEAST_MAPPED - 1, buffers.LEAST_MAPPED, 100_001, 5 << 20])
def test_a_buffer_has_its_bytes(nbytes: int) -> None:
    found = buffers.buffer(nbytes)
    assert found.shape == (nbytes,) and found.dtype == np.uint8 and found.flags.c_contiguous and found.flags.writeable
    found[:] = 7
    assert buffers.empty((3, nbytes, 2), np.float32).shape == (3, nbytes, 2)


def test_memory_is_used_again_while_somebody_runs(user: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "MOST_IDLE_UNUSED", 4096)
    first = buffers.buffer(1 << 20)
    view, where = first[100:].reshape(-1, 4), address(first)
    del first
    assert address(buffers.buffer(1 << 20)) != where, "a view still needs it"
    del view
    assert address(buffers.buffer((1 << 20) - 5)) == where
    assert buffers._heap.idle() >= 1 << 20
    buffers.release(user)
    assert buffers._heap.idle() <= 4096
    buffers.buffer(1 << 20)
    assert buffers._heap.idle() <= 4096, "nobody would use it"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_free_pages_go_back_to_the_system_beyond_a_bound_and_at_the_end(
    user: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "MOST_IDLE", 16 << 20)
    many = [buffers.buffer(8 << 20) for _ in range(16)]
    spans = [(address(array), array.nbytes) for array in many]
    for array in many:
        array[:] = 1
    assert resident(spans) == 128 << 20
    kept = many[7]
    del many[:], array
    assert 0 < buffers._heap.idle() <= 16 << 20
    assert resident(spans) <= kept.nbytes + buffers.MOST_IDLE
    buffers.release(user)
    assert resident(spans) <= kept.nbytes + buffers.MOST_IDLE_UNUSED
    assert (kept == 1).all(), "neighbours of what is given back stay"


def test_neighbours_become_one_range(user: threading.Event) -> None:
    rng = np.random.default_rng(0)
    for _ in range(3):
        many = [buffers.buffer(int(size)) for size in rng.integers(70_000, 3_000_000, 50)]
        spans = sorted((address(array), array.nbytes) for array in many)
        assert all(start + size <= after for (start, size), (after, _) in itertools.pairwise(spans))
        assert all(start % 64 == 0 for start, _ in spans)
        for index in rng.permutation(50).tolist():
            many[index] = None
        buffers._heap.idle()
        assert len(buffers._heap._free) == 1


def test_a_collection_while_memory_is_taken_blocks_nothing(user: threading.Event) -> None:
    lent = buffers.buffer(1 << 20)
    with buffers._heap._lock:
        del lent
    assert buffers._heap.idle() >= 1 << 20


def test_more_memory_than_there_is_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        buffers.buffer(1 << 60)


def test_threads_never_share_a_block(user: threading.Event) -> None:
    wrong = []

    def work(number: int) -> None:
        for size in [70_000, 200_000, 1 << 20] * 30:
            mine = buffers.buffer(size)
            mine[:] = number
            other = buffers.buffer(size)
            other[:] = 255 - number
            if not (mine == number).all():
                wrong.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=2)
def counting() -> object:
    images = fn.external_source(source=lambda i: np.full((4, 150, 200, 3), i, np.uint8), layout="HWC")
    return fn.flip(images)


def test_batches_outlive_their_pipeline() -> None:
    pipeline = counting()
    arrays = [np.asarray(pipeline.run()[0].as_tensor()) for _ in range(3)]
    pipeline.close()
    del pipeline
    other = counting()
    for _ in range(10):
        other.run()
    other.close()
    for index, array in enumerate(arrays):
        assert (array == index).all()


def test_a_closed_pipeline_gives_its_memory_back(user: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "MOST_IDLE_UNUSED", 4096)
    buffers.release(user)
    pipeline = counting()
    for _ in range(4):
        pipeline.run()
    assert buffers._heap.idle() > 0
    pipeline.close()
    del pipeline
    gc.collect()
    assert buffers._heap.idle() <= buffers.MOST_IDLE_UNUSED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_memory_of_its_own() -> None:
    pool = ThreadPool(1)
    ours = buffers.buffer(1 << 20)
    ours[:] = 1
    parents = buffers._heap
    pid = os.fork()
    if pid == 0:
        ours[:] = 2
        theirs = buffers.buffer(1 << 20)
        theirs[:] = 3
        os._exit(0 if buffers._heap is not parents and not parents.users and (ours == 2).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (ours == 1).all() and buffers._heap is parents
    pool.close()


def test_batches_take_no_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever asks for it, here batches that are kept: the system would end the process."""
    monkeypatch.setattr(buffers, "_process", buffers.Budget(1 << 26))
    pipe = Pipeline(64, 2, None, prefetch_queue_depth=40)
    with pipe:
        pipe.set_outputs(fn.random.uniform(shape=[100, 100], name="draws"))
    with pytest.raises(DaliLabError, match=r"node 'draws'.*are wanted, batches take .* GiB are the limit"):
        _ = [pipe.run() for _ in range(40)]
    pipe.close()
