"""Clusters of several nodes on this machine: what dies in mid-epoch loses nothing and gives nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import ray
from ray.cluster_utils import Cluster

from dali_lab import Pipeline, fn
from dali_lab.interop.ray.recipe import recipe_of
from dali_lab.plugin.ray import RayError, connect, dataset, iterator
from tests.frameworks.ray.conftest import EPOCH, check_batch, patiently
from tests.servers.serving import serving


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A head node without CPUs, and two nodes with one each."""
    head = {"num_cpus": 0, "include_dashboard": False}
    made = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    for _ in range(2):
        patiently(lambda: made.add_node(num_cpus=1))
    ray.init(address=made.address, logging_level="warning")
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def end_workers(cluster: Cluster) -> None:
    """Kill the processes in which one node runs its tasks; the other may not have begun."""
    for node in cluster.worker_nodes:
        workers = psutil.Process(node.all_processes["raylet"][0].process.pid).children()
        ended = [worker for worker in workers if worker.name().startswith("ray::")]
        for worker in ended:
            os.kill(worker.pid, signal.SIGKILL)
        if ended:
            return
    pytest.fail("no node runs tasks")


@pytest.mark.parametrize("dies", ["process", "node"])
def test_nothing_is_lost_or_given_twice(
    cluster: Cluster, make: Callable[..., Pipeline], expected: list[dict[str, list[np.ndarray]]], dies: str
) -> None:
    found = []
    for batch in iterator(dataset(make(), batches_per_block=1), prefetch_batches=0):
        labels = np.ravel(batch["labels"]).tolist()
        number = next(
            k for k, other in enumerate(expected) if np.ravel(other["labels"]).tolist()[: len(labels)] == labels
        )
        check_batch(batch, expected[number], len(labels))
        found.append(number)
        if len(found) == 2:
            if dies == "node":
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
                patiently(lambda: cluster.add_node(num_cpus=1))
            else:
                end_workers(cluster)
    assert sorted(found) == list(range(EPOCH))


def test_tasks_that_fit_on_no_node_yet_wait_with_a_warning(
    cluster: Cluster, make: Callable[..., Pipeline], expected: list[dict[str, list[np.ndarray]]]
) -> None:
    """Somebody else started the cluster, and adds the node."""
    with pytest.warns(UserWarning, match=r"\(CPU 3\); the most that one has is CPU 1\..*until one joins"):
        made = dataset(make(), num_cpus=3, batches_per_block=EPOCH)
    patiently(lambda: cluster.add_node(num_cpus=3))
    for number, batch in enumerate(iterator(made)):
        check_batch(batch, expected[number], len(batch["labels"]))


def test_a_dead_address_says_so() -> None:
    with pytest.raises(RayError, match=r"no Ray cluster can be used at '127.0.0.1:1'"):
        connect("127.0.0.1:1")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_an_address_of_another_program_says_so(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        writer.close()

    with serving(serve) as address, pytest.raises(RayError, match="another program listens there"):
        connect(address.removeprefix("http://"))


def test_relative_paths_start_at_the_folder_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of a cluster have working folders of their own."""
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline(batch_size=2, num_threads=1)
    with pipeline:
        inside = fn.readers.file(files=["a.jpg"], file_root="pictures", name="inside")[0]
        listed = fn.readers.file(files=["a.jpg", "/b.jpg", "s3://bucket/c.jpg"], name="listed")[0]
        pipeline.set_outputs(inside, listed)
    nodes = recipe_of(pipeline).graph.nodes
    assert nodes["inside"].arguments["file_root"] == str(tmp_path / "pictures")
    assert list(nodes["inside"].arguments["files"]) == ["a.jpg"]
    assert list(nodes["listed"].arguments["files"]) == [str(tmp_path / "a.jpg"), "/b.jpg", "s3://bucket/c.jpg"]
