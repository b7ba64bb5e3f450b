"""``dali-lab check``: what it finds, in every reader, and that it goes on where it was killed."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.checking import Check, Report
from dali_lab.checking.check import Progress
from dali_lab.cli.entry import main
from dali_lab.errors import GraphError
from dali_lab.formats import dumps
from dali_lab.graph.graph import Graph
from tests.programs import run_python
from tests.unit.readers import datasets

COUNT = 40
BAD = 17


def graph_of(outputs: Callable[[], Any], batch_size: int = 8) -> Graph:
    pipeline = dali_lab.Pipeline(batch_size, 2, None, seed=3)
    with pipeline, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some readers are placed on a GPU
        found = outputs()
        pipeline.set_outputs(*(found if isinstance(found, (list, tuple)) else [found]))
    return pipeline.graph


def decoded(dataset: datasets.Dataset, **more: Any) -> Graph:
    """The graph that reads a dataset, and decodes pictures."""

    def outputs() -> Any:
        data = dataset.read(name="Reader", **more)
        return fn.decoders.image(data) if dataset.encoded else data

    return graph_of(outputs)


def found(report: Report) -> dict[str, list[int | None]]:
    """Places of the findings of each kind."""
    result: dict[str, list[int | None]] = {}
    for finding in report.findings:
        result.setdefault(finding.kind, []).append(finding.place)
    return result


def checked(graph: Graph, **options: Any) -> Report:
    check = Check(graph, **options)
    try:
        return check.run()
    finally:
        check.close()


def pipelines_run(graph: Graph, batches: int) -> None:
    """The pipeline of a graph gives so many batches without an error."""
    pipe = dali_lab.Pipeline.from_graph(graph)
    try:
        for _ in range(batches):
            pipe.run()
    finally:
        pipe.close()


ENCODED = [kind for kind in datasets.ALL if kind not in ("numpy", "nemo_asr", "video", "sequence")]


@pytest.mark.parametrize("kind", ENCODED)
def test_one_damaged_picture_and_a_copy_in_each_form(tmp_path: Path, kind: str) -> None:
    contents = datasets.pictures(COUNT)
    contents[BAD] = contents[BAD][:60]
    contents[30] = contents[4]
    dataset = datasets.ALL[kind](tmp_path, contents)
    graph = decoded(dataset, random_shuffle=True, num_shards=3, shard_id=1, pad_last_batch=True)
    check = Check(graph)
    try:
        report = check.run()
        places = found(report)
        # In folders, pictures of even numbers come first.
        where = {17: 28, 30: 15, 4: 2} if kind == "file" else {17: 17, 30: 30, 4: 4}
        assert places["damaged"] == [where[17]]
        assert places["duplicate"] == [max(where[30], where[4])]
        assert report.samples == report.checked == COUNT
        assert sum(report.readers["Reader"].kinds.values()) == COUNT - 1
        listed = tmp_path / "listed"
        from dali_lab.io.exclude_list import exclude_list

        listed.write_bytes(exclude_list(check.excluded(report.errors)))
    finally:
        check.close()
    again = checked(decoded(dataset, exclude_list=str(listed)))
    assert not again.errors
    assert again.samples == COUNT - 1
    pipelines_run(decoded(dataset, exclude_list=str(listed)), 5)


def test_readers_of_decoded_samples(tmp_path: Path) -> None:
    contents = datasets.pictures(COUNT)
    for kind in ("numpy", "nemo_asr", "sequence"):
        folder = tmp_path / kind
        folder.mkdir()
        dataset = datasets.ALL[kind](folder, contents)
        bad = next(path for path in sorted(folder.rglob("*0017.*")))
        bad.write_bytes(bad.read_bytes()[:30])
        report = checked(decoded(dataset))
        (finding,) = report.errors
        assert finding.place == BAD, (kind, report.text())
        assert "0017" in (finding.sample or "")


def test_videos_that_cannot_be_opened_are_found_too(tmp_path: Path) -> None:
    dataset = datasets.videos(tmp_path, [b""] * 12)
    report = checked(decoded(dataset))
    assert report.samples == 12
    assert not report.errors
    (tmp_path / "c").mkdir()
    for path in sorted(tmp_path.glob("*.webm")):
        path.rename(tmp_path / "c" / path.name)
    (tmp_path / "c" / "0001.webm").write_bytes(b"no video")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = checked(
            graph_of(lambda: fn.experimental.readers.video(file_root=str(tmp_path), sequence_length=2, name="Reader"))
        )
    (finding,) = report.findings
    assert finding.kind == "without_file"
    assert "0001.webm" in finding.message
    files = list(map(str, sorted((tmp_path / "c").iterdir())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = checked(graph_of(lambda: fn.readers.video(filenames=files, sequence_length=2, name="Reader")))
    (finding,) = report.findings
    assert (finding.kind, finding.place, finding.sample) == ("unreadable", None, files[1])
    graph, excluded = tmp_path / "videos.dali.json", tmp_path / "bad.txt"
    graph.write_bytes(dumps(graph_of(lambda: fn.readers.video(filenames=files, sequence_length=2, name="R")), "json"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(["check", str(graph), "--report", str(tmp_path / "r"), "--exclude-to", str(excluded)]) == 1
    again = graph_of(
        lambda: fn.readers.video(filenames=files, exclude_list=str(excluded), sequence_length=2, name="Reader")
    )
    assert not checked(again).findings


def test_the_graphs_own_answers_to_bad_samples_hide_nothing(tmp_path: Path) -> None:
    """A batch that fails as a whole is gone through one by one, where replacing would hide the culprit."""
    for index in range(6):
        np.save(tmp_path / f"{index}.npy", np.ones((4, 3), np.float32))
    (tmp_path / "3.npy").write_bytes(b"no array")
    for answer in ("raise", "replace"):
        pipeline = dali_lab.Pipeline(4, 2, None, on_error="replace")
        with pipeline:
            arrays = fn.readers.numpy(file_root=str(tmp_path), file_filter="*.npy", on_error=answer, name="Reader")
            pipeline.set_outputs(fn.python_function(arrays, function=refuse_all, batch_processing=True))
        assert found(checked(pipeline.graph))["unreadable"] == [3]


def refuse_all(arrays: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    if len(arrays) > 1:
        raise ValueError("not so many")
    return arrays


def test_types_sizes_shapes_and_labels_of_two(tmp_path: Path) -> None:
    def picture(number: int, height: int = 40, width: int = 60) -> np.ndarray[Any, Any]:
        noise = np.random.default_rng(number).integers(0, 255, (8, 8, 3), np.uint8)
        return cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC)

    for index in range(120):
        path = tmp_path / "ab"[index // 60] / f"{index:04d}.jpg"
        path.parent.mkdir(exist_ok=True)
        cv2.imwrite(str(path), picture(index))
    (tmp_path / "a" / "0001.jpg").write_bytes(cv2.imencode(".png", picture(1, 8, 10))[1].tobytes())
    cv2.imwrite(str(tmp_path / "a" / "0002.jpg"), picture(2)[:, :, :1])
    cv2.imwrite(str(tmp_path / "a" / "0003.jpg"), picture(3, 900, 1400))
    cv2.imwrite(str(tmp_path / "a" / "0005.jpg"), picture(5, 12, 400))
    (tmp_path / "b" / "0070.jpg").write_bytes((tmp_path / "a" / "0007.jpg").read_bytes())
    (tmp_path / "b" / "0071.jpg").unlink()
    (tmp_path / "b" / "0071.jpg").symlink_to("nowhere")
    (tmp_path / "c").mkdir()
    (tmp_path / "left.jpg").write_bytes(b"1")
    (tmp_path / "a" / "notes.txt").write_text("x")
    graph = graph_of(lambda: fn.decoders.image(fn.readers.file(file_root=str(tmp_path), name="Reader")[0]))
    report = checked(graph)
    places = found(report)
    assert set(places["type"]) == {1, 2}
    assert places["size"] == [3]
    assert places["shape"] == [5]
    assert places["two_labels"] == [70]
    assert places["missing_file"] == [71]
    messages = [finding.message for finding in report.findings if finding.place is None]
    assert [any(word in message for message in messages) for word in ("'left.jpg'", "notes.txt", "'c'")] == [True] * 3


def test_what_the_pipeline_refuses_and_a_batch_that_fails_as_a_whole(tmp_path: Path) -> None:
    contents = datasets.pictures(COUNT)
    contents[BAD] = cv2.imencode(".png", np.zeros((5, 5, 3), np.uint8))[1].tobytes()
    dataset = datasets.archive(tmp_path, contents)

    def cut() -> Any:
        images = fn.decoders.image(dataset.read(name="Reader"))
        return fn.slice(images, 0, 10, axes=[0], out_of_bounds_policy="error")

    report = checked(graph_of(cut))
    (finding,) = report.errors
    assert (finding.kind, finding.place) == ("refused", BAD)

    def stacked() -> Any:
        images = fn.slice(fn.decoders.image(dataset.read(name="Reader")), 0, 12, axes=[0], normalized_anchor=False)
        return fn.permute_batch(images, indices=[0] * 8), fn.batch_permutation()

    assert not [each for each in checked(graph_of(stacked)).errors if each.place != BAD]


def test_two_readers_that_go_together(tmp_path: Path) -> None:
    """The list leaves out the partners of a bad sample, so that pairs stay pairs."""
    contents = datasets.pictures(COUNT)
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
        datasets.coco(tmp_path / name, [*contents[:BAD], b"bad" if name == "masks" else contents[BAD], *contents[18:]])

    def outputs(**more: Any) -> Any:
        def read(name: str) -> Any:
            return fn.readers.coco(
                file_root=str(tmp_path / name), annotations_file=str(tmp_path / name / "all.json"), name=name, **more
            )[0]

        return fn.decoders.image(read("images")), fn.decoders.image(read("masks"))

    check = Check(graph_of(outputs))
    report = check.run()
    (finding,) = report.errors
    assert (finding.reader, finding.place) == ("masks", BAD)
    assert check.excluded(report.errors) == ["0017.png"]
    check.close()


def test_an_interrupted_check_goes_on_to_the_same_report(tmp_path: Path) -> None:
    contents = datasets.pictures(COUNT)
    contents[3] = contents[30] = b"bad"
    (tmp_path / "data").mkdir()
    graph = decoded(datasets.ALL["file"](tmp_path / "data", contents))
    journal = str(tmp_path / "journal")
    whole = checked(graph)

    class Enough(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.done > 24:
            raise Enough

    import dali_lab.checking.walk as walk

    part, walk.PART = walk.PART, 8
    try:
        first = Check(graph, journal=journal)
        with pytest.raises(Enough):
            first.run(stop)
        first.close()
        with open(journal, "ab") as file:
            file.write(b'{"part": 3, "facts')  # as a process that was killed leaves it
        second = Check(graph, journal=journal)
        assert [part.number for part in second.done] == [0, 1, 2]
        report = second.run()
        assert report.checked == 16
        assert report.findings == whole.findings
        assert report.readers == whole.readers
        second.close(finished=True)
        assert not Path(journal).exists()
    finally:
        walk.PART = part


def test_a_journal_of_another_dataset_is_not_used(tmp_path: Path) -> None:
    contents = datasets.pictures(12)
    journal = str(tmp_path / "journal")
    (tmp_path / "data").mkdir()
    graph = decoded(datasets.ALL["file"](tmp_path / "data", contents))
    checked(graph, journal=journal)
    again = Check(graph, journal=journal)
    assert len(again.done) == 1
    again.close()
    (tmp_path / "data" / "a" / "0000.png").unlink()
    another = Check(graph, journal=journal)
    assert not another.done
    another.close()
    for damage in (b"", b"\n\n", b"[1]\n", b'{"format": "dali-lab check 1", "mark": 3}\n', bytes(range(256))):
        Path(journal).write_bytes(damage)
        assert len(checked(graph, journal=journal).findings) == 0


def test_graphs_that_cannot_be_checked() -> None:
    with pytest.raises(GraphError, match="external"):
        Check(graph_of(lambda: fn.external_source(name="external")))
    with pytest.raises(GraphError, match="there is none"):
        Check(graph_of(lambda: fn.random.uniform()))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A graph file, and a dataset with hostile names and a damaged picture."""
    contents = datasets.pictures(30)
    contents[4] = contents[4][:60]
    root = tmp_path / "data"
    root.mkdir()
    datasets.ALL["file"](root, contents)
    (root / "a" / "0004.png").rename(root / "a" / "<img src=x onerror=alert(1)>.png")
    (root / "a" / "=cmd.png").write_bytes(b"bad")
    (root / "a" / "line\nbreak\u202e.png").write_bytes(b"bad")
    graph = graph_of(lambda: fn.decoders.image(fn.readers.file(file_root=str(root), name="Reader")[0]))
    (tmp_path / "g.dali.json").write_bytes(dumps(graph, "json"))
    return tmp_path / "g.dali.json"


def test_the_command_writes_reports_and_a_list(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(damaged), "--exclude-to", "listed"]) == 1
    shown = capsys.readouterr().out
    assert "Damaged: 3" in shown
    assert "\u202e" not in shown
    folder = tmp_path / "g-check"
    assert sorted(path.name for path in folder.iterdir()) == ["report.csv", "report.html", "report.json"]
    report = json.loads((folder / "report.json").read_text())
    assert (report["errors"], report["counts"]["damaged"], report["samples"]) == (3, 3, 32)
    rows = list(csv.DictReader(io.StringIO((folder / "report.csv").read_text(), newline="")))
    assert {row["sample"] for row in rows} >= {"a/line\nbreak\u202e.png", "a/=cmd.png"}
    html = (folder / "report.html").read_text()
    assert "<img src=x" not in html
    assert "\u202e" not in html
    assert "<script" not in html
    assert "default-src 'none'" in html and "unsafe-inline" not in html and "style=" not in html
    assert not re.search(r"""(src|href)=['"](?!data:)""", html)
    edited = damaged.read_text().replace('"file_root"', '"exclude_list": "listed", "file_root"')
    damaged.write_text(edited)
    assert main(["check", str(damaged)]) == 0
    assert main(["check", str(damaged), "--fail-on", "warning"]) in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--exclude", "nonsense"], 2), (["--fail-on", "never"], 0), (["--exclude", "error,duplicate"], 1)],
)
def test_options_and_the_exit_status(
    damaged: Path, arguments: list[str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(damaged.parent)
    assert main(["check", str(damaged), "--exclude-to", "listed", *arguments]) == status
    assert main(["check", str(damaged.parent / "nothing.json")]) == 2


def test_killed_in_the_middle_it_goes_on(tmp_path: Path) -> None:
    """SIGKILL while a part is under way: the next run begins behind the last whole part."""
    root = tmp_path / "data"
    root.mkdir()
    contents = datasets.pictures(2200)
    contents[2000] = b"bad"
    datasets.ALL["file"](root, contents)
    graph = graph_of(lambda: fn.decoders.image(fn.readers.file(file_root=str(root), name="Reader")[0]))
    (tmp_path / "g.dali.json").write_bytes(dumps(graph, "json"))
    program = """
import os, signal, sys
from dali_lab.checking import Check
from dali_lab.checking.journal import Journal
from dali_lab.formats import load
add = Journal.add
def killed(self, part):
    add(self, part)
    os.kill(os.getpid(), signal.SIGKILL)
Journal.add = killed
os.makedirs("g-check")
Check(load("g.dali.json"), journal="g-check/journal.jsonl").run()
"""
    run_python("-c", program, status=-9, cwd=tmp_path)
    done = run_python("-m", "dali_lab", "check", "g.dali.json", status=1, cwd=tmp_path)
    assert "Going on behind 1,024 of 2,200 samples." in done.stdout
    assert "1,176 samples in" in done.stdout
    assert "Damaged: 1" in done.stdout
