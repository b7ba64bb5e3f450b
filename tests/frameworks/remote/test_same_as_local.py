"""Every reader gives from stores what it gives from the same folder on disk: samples, order, shards, checkpoints."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.formats import dumps, loads
from dali_lab.io.files import list_folder
from tests.servers.s3 import S3
from tests.servers.web import web_server
from tests.unit.readers import datasets

pytest.importorskip("fsspec", reason="remote files (pip install dali-lab[remote])")

COUNT = 12

ODD = "a b%41#ü?+&[c]*é"
"""Name of the folder in every store: no part of it means anything there."""

Upload = Callable[[Path], str]
"""Makes a folder available, and answers with its URL."""


def _with_urls(folder: Path, url: str) -> None:
    """Manifests name their files in the store then."""
    for path in folder.rglob("*.json"):
        path.write_text(path.read_text().replace(str(folder), url))


@pytest.fixture
def memory() -> Iterator[Upload]:
    import fsspec

    system = fsspec.filesystem("memory")

    def upload(folder: Path) -> str:
        _with_urls(folder, f"memory://data/{ODD}")
        for path in folder.rglob("*"):
            if path.is_file():
                system.pipe(f"/data/{ODD}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"memory://data/{ODD}"

    yield upload
    system.store.clear()


@pytest.fixture
def bucket(s3: S3, request: pytest.FixtureRequest) -> Upload:
    def upload(folder: Path) -> str:
        name = f"same-{abs(hash(request.node.name))}"
        _with_urls(folder, f"s3://{name}/{ODD}")
        shutil.copytree(folder, folder.parent / "store" / ODD)
        return f"{s3.upload(folder.parent / 'store', name)}/{ODD}"

    return upload


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Upload]:
    pytest.importorskip("obstore", reason="the client (pip install dali-lab[remote])")
    root = tmp_path / "served"
    root.mkdir()
    tmp_path.chmod(0o755)
    with web_server(root) as address:

        def upload(folder: Path) -> str:
            url = f"{address}/{quote(ODD)}"
            _with_urls(folder, url)
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    target = root / ODD / path.relative_to(folder)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(path.read_bytes())
            return url

        yield upload


@pytest.fixture
def address() -> Upload:
    """Addresses of files on disk."""

    def upload(folder: Path) -> str:
        place = folder.with_name(ODD)
        _with_urls(folder, place.as_uri())
        return shutil.copytree(folder, place).as_uri()

    return upload


def fits(folder: Path, contents: Sequence[bytes]) -> datasets.Dataset:
    """Images of FITS files, every other one compressed."""
    fits = pytest.importorskip("astropy.io.fits", reason="it writes the files")
    for index, content in enumerate(contents):
        kind = fits.CompImageHDU if index % 2 else fits.ImageHDU
        image = kind(np.frombuffer(content[:60], np.uint8).reshape(6, 10))
        fits.HDUList([fits.PrimaryHDU(), image]).writeto(folder / f"{index:04d}.fits")
    return datasets.Dataset(lambda **more: fn.experimental.readers.fits(file_root=str(folder), **more), False)


def pipeline(dataset: datasets.Dataset, folder: Path, url: str, **arguments: Any) -> dali_lab.Pipeline:
    """A pipeline of a reader, of the folder on disk, or of a URL in its place."""
    saves = "checkpoint" in arguments
    checkpoint = arguments.pop("checkpoint", None)
    define = dali_lab.Pipeline(4, 2, None, seed=5)
    with define, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are placed on a GPU
        output = dataset.read(name="Reader", **arguments)
        define.set_outputs(*(output if isinstance(output, (list, tuple)) else [output]))
    graph = loads(dumps(define.graph, "json").replace(str(folder).encode(), url.encode()))
    pipe = dali_lab.Pipeline.from_graph(graph, enable_checkpointing=saves, checkpoint=checkpoint)
    pipe.build()
    return pipe


def batches(pipe: dali_lab.Pipeline, count: int) -> list[list[tuple[Any, ...]]]:
    return [
        [
            tuple((np.array(out.at(i)).shape, np.array(out.at(i)).tobytes()) for i in range(len(out)))
            for out in pipe.run()
        ]
        for _ in range(count)
    ]


ORDERS: list[dict[str, Any]] = [
    {},
    {"random_shuffle": True, "initial_fill": 3, "num_shards": 2, "shard_id": 1},
    {"pad_last_batch": True, "num_shards": 3, "shard_id": 2, "stick_to_shard": True},
]


KINDS = {**datasets.ALL, "fits": fits}
STORES = [
    *(("memory", kind) for kind in KINDS),
    *(("bucket", kind) for kind in KINDS),
    *(("address", kind) for kind in KINDS),
    *(("web", kind) for kind in KINDS),
]


@pytest.mark.parametrize(("store", "kind"), STORES)
def test_samples_and_order_are_the_same(tmp_path: Path, kind: str, store: str, request: pytest.FixtureRequest) -> None:
    orders = ORDERS if store == "memory" else ORDERS[1:2]
    folder = tmp_path / "data"
    folder.mkdir()
    dataset = KINDS[kind](folder, datasets.pictures(COUNT))
    expected = []
    for order in orders:
        local = pipeline(dataset, folder, str(folder), **order)
        expected.append(batches(local, 8))
        local.close()
    url = request.getfixturevalue(store)(folder)
    for order, wanted in zip(orders, expected, strict=True):
        remote = pipeline(dataset, folder, url, **order)
        assert batches(remote, 8) == wanted
        remote.close()


def test_a_checkpoint_of_either_goes_on_with_the_other(tmp_path: Path, memory: Upload) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    dataset = datasets.file(folder, datasets.pictures(COUNT))
    url = memory(folder)
    order = {"random_shuffle": True, "initial_fill": 5}
    whole = batches(pipeline(dataset, folder, str(folder), **order), 9)
    for first, second in ((str(folder), url), (url, str(folder)), (url, url)):
        begun = pipeline(dataset, folder, first, checkpoint=None, **order)
        assert batches(begun, 4) == whole[:4]
        saved = begun.checkpoint()
        rest = pipeline(dataset, folder, second, checkpoint=saved, **order)
        assert batches(rest, 5) == whole[4:]
        for pipe in (begun, rest):
            pipe.close()


def test_a_store_that_is_the_folder(memory: Upload) -> None:
    """Nothing stands behind the scheme; without a bucket there is no store."""
    import fsspec

    fsspec.filesystem("memory").pipe("/class/a.png", b"0")
    pipe = dali_lab.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(*fn.readers.file(file_root="memory://"))
    assert batches(pipe, 1)[0][0] == (((1,), b"0"),)
    pipe.close()
    with pytest.raises(OSError, match="'s3://' names no bucket"):
        list_folder("s3://")


@pytest.mark.parametrize("store", ["bucket", "web", "file"])
def test_folders_of_classes_hold_odd_names(tmp_path: Path, store: str, request: pytest.FixtureRequest) -> None:
    folder = tmp_path / "data"
    names = ["a b/1 #x.png", "a b/ü?.png", "b%20/2+.png", "[c]/d&e.png", "[c]/deep/below.png"]
    if store != "web":  # nginx lists no hidden files
        names.append("b%20/.png")
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"%d" % number)
    url = folder.as_uri() if store == "file" else request.getfixturevalue(store)(folder)

    def read(root: str) -> list[Any]:
        pipe = dali_lab.Pipeline(3, 1, None)
        with pipe:
            pipe.set_outputs(*dali_lab.fn.readers.file(file_root=root))
        found = batches(pipe, 2)
        pipe.close()
        return found

    assert read(url) == read(str(folder))
