"""The dataset of a reader: pages, filters, thumbnails; pinned samples; distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab.graph.graph import Node
from dali_lab.io.roots import Roots
from dali_lab.studio.dataset.samples import Samples
from dali_lab.studio.distributions import charts, note
from dali_lab.studio.protocol.datasets import DatasetRequest
from dali_lab.studio.session import Session
from tests.unit.studio.conftest import Client, document

cv2 = pytest.importorskip("cv2")
Open = Callable[..., Session]
LABELS = ("cats", "dogs", "owls")


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Twelve pictures of 8 to 19 pixels in three folders, a file that is no picture, and an empty one."""
    root = tmp_path / "labelled"
    for number in range(12):
        place = root / LABELS[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(place / f"{number:02}.png"), np.full((8 + number, 10, 3), 20 * number, np.uint8))
    (root / "dogs" / "broken.png").write_bytes(b"no picture at all, only words" * 10)
    (root / "owls" / "empty.png").write_bytes(b"")
    return root


@pytest.fixture
def samples(labelled: Path) -> Iterator[Samples]:
    found = Samples(Node("reader", "readers.file", arguments={"file_root": str(labelled)}), Roots([labelled]))
    yield found
    found.close()


def names(samples: Samples, **wanted: Any) -> list[str]:
    return [samples.names[place] for place in samples.matching(DatasetRequest("reader", **wanted))]


def test_samples_are_searched_filtered_and_sorted(samples: Samples) -> None:
    assert samples.size == 14
    assert [(each.label, each.name, each.count) for each in samples.counts()] == [
        (0, "cats", 4), (1, "dogs", 5), (2, "owls", 5),
    ]  # fmt: skip
    assert names(samples, text="DOGS 1") == ["dogs/01.png", "dogs/10.png"]
    assert names(samples, text="#2") == ["cats/03.png"]
    assert names(samples, label=0) == ["cats/00.png", "cats/03.png", "cats/06.png", "cats/09.png"]
    assert names(samples, label=0, descending=True)[0] == "cats/09.png"
    samples.look()
    samples.wait()
    assert names(samples, damaged=True) == ["dogs/broken.png", "owls/empty.png"]
    assert names(samples, sort="pixels", descending=True)[:2] == ["owls/11.png", "dogs/10.png"]
    assert names(samples, sort="bytes")[0] == "owls/empty.png"
    assert names(samples, smallest=200) == ["dogs/broken.png"]


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_pictures_that_are_cut_off_are_damaged(labelled: Path, suffix: str) -> None:
    noise = np.random.default_rng(3).integers(0, 255, (60, 90, 3), np.uint8)
    _, data = cv2.imencode(suffix, noise)
    (labelled / "cats" / f"cut{suffix}").write_bytes(bytes(data)[: len(data) // 2])
    (labelled / "cats" / f"padded{suffix}").write_bytes(bytes(data) + bytes(5000))
    (labelled / "cats" / f"whole{suffix}").write_bytes(bytes(data))
    with closing(
        Samples(Node("reader", "readers.file", arguments={"file_root": str(labelled)}), Roots([labelled]))
    ) as it:
        it.look()
        it.wait()
        assert names(it, damaged=True, label=0) == [f"cats/cut{suffix}"]
        problem = it.problems[it.names.index(f"cats/cut{suffix}")]
    assert problem.startswith("Truncated")


def test_a_page_says_why_a_picture_with_a_beginning_and_an_end_cannot_be_shown(
    open_session: Open, labelled: Path
) -> None:
    _, data = cv2.imencode(".png", np.random.default_rng(3).integers(0, 255, (60, 90, 3), np.uint8))
    holed = bytearray(bytes(data))
    holed[200:9000] = bytes(8800)
    (labelled / "cats" / "holed.png").write_bytes(holed)
    client = Client(open_session(document(labelled)))
    (sample,) = client.call("dataset", node="reader", text="holed", thumb=32)["samples"]
    assert sample.get("image") is None
    assert "PNG" in sample["problem"]


def test_samples_that_a_check_found_are_damaged(samples: Samples) -> None:
    samples.checked = frozenset({samples.files[0]})
    samples.look()
    samples.wait()
    assert "cats/00.png" in names(samples, damaged=True)


def test_a_hundred_thousand_names_are_searched_at_once(samples: Samples) -> None:
    samples.size = 100_000
    samples.names = [f"{number:06}.jpg" for number in range(samples.size)]
    samples._found = samples.names
    samples.labels = np.arange(samples.size) % 10
    found = samples.matching(DatasetRequest("reader", text="99", label=9, sort="name", descending=True))
    assert found[0] == 99999
    assert len(found) == sum("99" in name and int(name[:6]) % 10 == 9 for name in samples.names)


def test_a_page_has_thumbnails_and_says_why_one_lacks(open_session: Open, labelled: Path) -> None:
    client = Client(open_session(document(labelled)))
    page = client.call("dataset", node="reader", label=1, count=3, first=2, thumb=32)
    assert (page["size"], page["matching"], page["first"]) == (14, 5, 2)
    shown = {sample["name"]: sample for sample in page["samples"]}
    assert list(shown) == ["dogs/07.png", "dogs/10.png", "dogs/broken.png"]
    assert (shown["dogs/07.png"]["width"], shown["dogs/07.png"]["height"]) == (10, 15)
    assert shown["dogs/07.png"].get("image") is not None
    assert shown["dogs/broken.png"]["problem"].startswith("Not an image")
    assert shown["dogs/broken.png"].get("image") is None


def test_a_reader_that_is_not_there_is_told(open_session: Open, labelled: Path) -> None:
    client = Client(open_session(document(labelled)))
    assert "no node 'nothing'" in client.error("dataset", node="nothing")["message"]


def test_pinned_samples_make_up_the_batch(open_session: Open, labelled: Path) -> None:
    client = Client(open_session(document(labelled)))
    places = [sample["place"] for sample in client.call("dataset", node="reader", text="cats", thumb=0)["samples"]]
    found = client.preview(samples=4, pins=places[::-1], pinned_of=14)["reader"]["outputs"][0]
    assert found["files"] == ["09.png", "06.png", "03.png", "00.png"]
    # A list of another length is another dataset: its samples come in turn.
    again = client.preview(samples=4, pins=places, pinned_of=99)["reader"]["outputs"][0]
    assert again["files"] == ["00.png", "03.png", "06.png", "09.png"]


def test_numbers_over_many_samples(open_session: Open, labelled: Path) -> None:
    for bad in ("dogs/broken.png", "owls/empty.png"):
        (labelled / bad).unlink()
    client = Client(open_session(document(labelled)))
    client.call("distribution", run=7, node="reader", output=1, samples=24)
    done = client.event("distribution.done")
    assert (done["status"], done["samples"]) == ("done", 24)
    (chart,) = done["charts"]
    assert (chart["values"], chart["counts"]) == (["0", "1", "2"], [8, 8, 8])


def test_charts_of_sizes_and_means() -> None:
    found: dict[str, list[float]] = {}
    note(found, [np.full((2 + row, 4, 3), row, np.uint8) for row in range(30)], "HWC")
    made = {chart.name: chart for chart in charts(found)}
    assert list(made) == ["height", "width", "width / height", "mean", "deviation"]
    assert (made["height"].low, made["height"].high, sum(made["height"].counts)) == (2.0, 31.0, 30)
    assert (made["width"].values, made["width"].counts) == (["4"], [30])
    assert made["mean"].mean == pytest.approx(14.5)
