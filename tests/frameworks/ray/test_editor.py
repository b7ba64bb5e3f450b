"""Run in the editor on a cluster: progress, an end that leaves nothing there, errors, and the same limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from dali_lab.io.roots import Roots
from dali_lab.studio.permissions import Permissions
from dali_lab.studio.session import Session
from tests.frameworks.ray.conftest import FILES
from tests.unit.studio.conftest import Client

pytestmark = pytest.mark.usefixtures("local_ray")

Opened = Callable[..., Client]


@pytest.fixture
def opened(pictures: list[str]) -> Iterator[Opened]:
    """An editor over a graph that reads the pictures, in a session that may read their folder alone."""
    sessions = []

    def open_graph(batch_size: int = 8, **reader: Any) -> Client:
        root = Path(pictures[0]).parent
        nodes = {
            "reader": {"op": "readers.file", "arguments": {"files": pictures, "pad_last_batch": True, **reader}},
            "decode": {"op": "decoders.image", "inputs": ["reader"]},
        }
        document = {"nodes": nodes, "outputs": ["decode"], "pipeline": {"batch_size": batch_size}}
        session = Session(document, root=root, permissions=Permissions(Roots([root])))
        sessions.append(session)
        return Client(session)

    yield open_graph
    for session in sessions:
        session.close()


def test_an_epoch_runs_there_with_progress(opened: Opened) -> None:
    client = opened()
    address = ray.get_runtime_context().gcs_address
    assert client.call("hello", protocol=1, client="client")["capabilities"]["cluster"] == address
    client.call("run", run=1, on_cluster=True)
    assert client.event("run.progress")["total"] == -(-FILES // 8)
    done = client.event("run.done")
    assert (done["status"], done["samples"], done["batches"]) == ("done", FILES, 7)
    assert "on Ray, 1 machine with 2 CPUs" in done["summary"]


def test_a_cancelled_run_leaves_nothing_there(opened: Opened, pictures: list[str]) -> None:
    client = opened(batch_size=1, files=pictures * 2000)
    client.call("run", run=1, on_cluster=True)
    client.event("run.progress", where=lambda progress: progress["done"] > 0)
    client.call("cancel", run=1)
    assert client.event("run.done")["status"] == "cancelled"
    while ray.available_resources().get("CPU") != 2.0:  # the limit of the test ends it
        time.sleep(0.1)
    client.call("run", run=2, on_cluster=True, batches=1)
    client.call("cancel", run=2)
    assert client.event("run.done")["status"] == "cancelled", "also before the cluster is there"


def test_an_error_is_that_of_its_node(opened: Opened, pictures: list[str]) -> None:
    client = opened(files=[*pictures[:4], str(Path(pictures[0]).with_name("gone.jpg"))])
    client.call("run", run=1, on_cluster=True)
    done = client.event("run.done")
    assert done["status"] == "failed"
    assert done["error"]["node"] == "reader"
    assert done["error"]["file"].endswith("gone.jpg")


def test_files_outside_the_folders_are_not_read_there(opened: Opened, tmp_path: Path, pictures: list[str]) -> None:
    outside = tmp_path / "outside.jpg"
    outside.write_bytes(Path(pictures[0]).read_bytes())
    link = Path(pictures[0]).with_name("link.jpg")
    link.symlink_to(outside)
    names = Path(pictures[0]).with_name("names.txt")
    names.write_text("link.jpg 0\n")
    client = opened(files=None, file_list=str(names))
    client.call("run", run=1, on_cluster=True)
    done = client.event("run.done")
    assert done["status"] == "failed"
    assert "outside the folders that may be read" in done["error"]["message"]
