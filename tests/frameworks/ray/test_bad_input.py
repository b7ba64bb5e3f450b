"""Faults of data and of the cluster: one sentence that says what is wrong and what to do, and runs that go on."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import ray
from PIL import Image
from ray import exceptions

from dali_lab import Pipeline, fn
from dali_lab.errors import DaliLabError, SampleError
from dali_lab.interop.ray import requirements
from dali_lab.interop.ray.failures import explained
from dali_lab.plugin.ray import RayError, dataset, iterator
from tests.frameworks.ray.conftest import start_ray
from tests.servers.made_up import MadeUp, made_up


def picture() -> bytes:
    """A small JPEG."""
    content = io.BytesIO()
    Image.fromarray(np.full((24, 24, 3), 90, np.uint8)).save(content, "jpeg")
    return content.getvalue()


@pytest.fixture(scope="module")
def running() -> Iterator[MadeUp]:
    """Ray with two CPUs, whose processes find a store of 32 pictures; its object store has no disk to spill to."""
    with made_up(32, picture()) as found, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "for-tests-alone",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": found.address,
            "DALI_LAB_REMOTE_ATTEMPTS": "2",
        }.items():
            patch.setenv(name, value)
        start_ray(
            num_cpus=2,
            object_store_memory=100_000_000,
            _system_config={"local_fs_capacity_threshold": 1e-9},
        )
        yield found
        ray.shutdown()


@pytest.fixture
def store(running: MadeUp) -> Iterator[MadeUp]:
    """The store, which is whole again afterwards."""
    yield running
    running.refusals.clear()
    running.gone.clear()


def reading(size: int = 16, **settings: object) -> Pipeline:
    pipe = Pipeline(**{"batch_size": 4, "num_threads": 1, "seed": 1, **settings})
    with pipe:
        encoded, labels = fn.readers.file(file_root="s3://pictures", name="Reader")
        pipe.set_outputs(fn.resize(fn.decoders.image(encoded), size=(size, size)), labels)
    return pipe


def rows(pipe: Pipeline, **options: object) -> int:
    given = iterator(dataset(pipe, batches_per_block=1, **options), tensors="numpy")
    return sum(len(next(iter(batch.values()))) for batch in given)  # type: ignore[call-overload]


REFUSALS = [
    (403, "<Error><Code>AccessDenied</Code></Error>", r"AccessDenied.*the credentials found have no right to read it"),
    (400, "<Error><Code>ExpiredToken</Code></Error>", r"credentials for s3://pictures have expired; sign in again"),
    (404, "<Error><Code>NoSuchKey</Code></Error>", "it does not exist"),
    (503, "<Error><Code>SlowDown</Code></Error>", "tried 2 times"),
]


@pytest.mark.parametrize(("status", "said", "wanted"), REFUSALS)
def test_a_fault_of_an_object_in_mid_epoch_is_the_error_of_a_local_run(
    store: MadeUp, status: int, said: str, wanted: str
) -> None:
    made = dataset(reading(), batches_per_block=1)
    store.refusals["train/00000030"] = (status, said)
    with pytest.raises(SampleError, match=wanted) as caught:
        list(iterator(made, tensors="numpy"))
    assert type(caught.value) is SampleError
    assert "s3://pictures/train/00000030.jpg" in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert rows(reading(on_error="replace", max_error_rate=1.0)) == 32


LISTINGS = [
    (403, "<Error><Code>AccessDenied</Code></Error>", "AccessDenied.*no right to read it"),
    (404, "<Error><Code>NoSuchBucket</Code></Error>", "there is no bucket 'pictures'"),
]


@pytest.mark.parametrize(("status", "said", "wanted"), LISTINGS)
def test_a_bucket_that_cannot_be_listed_is_told_before_any_task(
    store: MadeUp, status: int, said: str, wanted: str
) -> None:
    store.refusals["list-type"] = (status, said)
    with pytest.raises(DaliLabError, match=wanted):
        dataset(reading())


def test_a_full_object_store_says_what_to_do(store: MadeUp) -> None:
    with pytest.raises(RayError, match=r"the object store of a node is full.*batches_per_block=1.*object-store-memory"):
        list(iterator(dataset(reading(1600), batches_per_block=8), tensors="numpy"))
    assert rows(reading()) == 32, "the cluster goes on"


@pytest.mark.parametrize("options", [{"num_cpus": 16}, {"num_gpus": 1}, {"resources": {"tpu-slice": 1}}])
def test_tasks_that_fit_on_no_node_are_refused(store: MadeUp, options: dict[str, object]) -> None:
    """Ray waits for such a node for ever."""
    with pytest.raises(RayError, match=r"no node .* has .*\); the most that one has is .*Ask dataset\(\)"):
        dataset(reading(), **options)


def test_the_address_of_a_cluster_is_one(store: MadeUp) -> None:
    requirements._probe(ray.get_runtime_context().gcs_address)


def test_a_node_without_the_package_says_so(store: MadeUp, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['dali_lab'] = None\n")
    environment = {"env_vars": {"PYTHONPATH": str(tmp_path)}}
    with pytest.raises(RayError, match=r"has no package dali_lab that fits \(.*\): install the same release"):
        rows(reading(), runtime_env=environment)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (exceptions.OutOfMemoryError("killed"), r"a node has no memory left.*batches_per_block=1.*num_cpus=2"),
        (exceptions.WorkerCrashedError(), r"processes of the cluster ended again and again: .*session_latest/logs"),
        (exceptions.RuntimeEnvSetupError("no such package"), r"a node cannot set up runtime_env: .*no such package"),
        (exceptions.RaySystemError("gone"), r"the connection to the Ray cluster broke: .*gone.*`ray status`"),
    ],
)
def test_errors_of_ray_itself_say_what_to_do(error: Exception, wanted: str) -> None:
    meaning = explained(error)
    assert isinstance(meaning, RayError)
    assert re.search(wanted, str(meaning))
