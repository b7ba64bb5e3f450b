"""The command line: in a process of its own where that matters, else called directly."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab import cli
from dali_lab.cli import app
from dali_lab.cli.progress import summary_line
from dali_lab.errors import DaliLabError
from dali_lab.gallery.places import built_in_folder
from dali_lab.schema.samples import picture
from tests.programs import LIMIT, run_python

ROOT = Path(__file__).parents[2]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A graph file over four pictures."""
    folder = tmp_path / "pictures" / "cats"
    folder.mkdir(parents=True)
    for index in range(4):
        cv2.imwrite(str(folder / f"{index}.jpg"), picture(40, 50, seed=index))
    document = {
        "format": "dali-lab/graph",
        "version": 1,
        "pipeline": {"batch_size": 4, "num_threads": 2, "seed": 1},
        "nodes": {
            "reader": {"op": "readers.file", "arguments": {"file_root": str(tmp_path / "pictures")}},
            "decode": {"op": "decoders.image", "inputs": ["reader"]},
            "flip": {"op": "flip", "inputs": ["decode"], "arguments": {"vertical": 1}},
        },
        "outputs": ["flip", "reader:1"],
    }
    path = tmp_path / "cats.dali.json"
    path.write_text(json.dumps(document))
    return path


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "app" in capsys.readouterr().out


def test_ops_lists_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ops"]) == 0
    listed = capsys.readouterr().out
    assert "Geometry" in listed
    assert re.search(r"^  resize +\S", listed, re.MULTILINE)
    assert cli.main(["ops", "flip"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("fn.flip")
    assert "horizontal" in text
    assert cli.main(["ops", "fn.decoders.image"]) == 0
    assert "output_type" in capsys.readouterr().out
    assert cli.main(["ops", "rotate image"]) == 2
    assert "there is no operator" in capsys.readouterr().err


def test_show_draws_and_prints(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", str(graph)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("reader")
    assert lines[2] == "flip    flip(decode, vertical=1)  cpu"
    assert lines[-1] == "outputs: flip, reader:1"
    assert cli.main(["show", str(graph), "-o", str(tmp_path / "a.svg")]) == 0
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert cli.main(["show", str(graph), "-o", str(tmp_path / "a.dot")]) == 0
    assert "digraph" in (tmp_path / "a.dot").read_text()


def test_run_says_what_comes_out_and_how_fast(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(graph), "--batches", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("output 0: 4 × 40×50×3, UINT8, HWC, from ")
    assert lines[1].startswith("output 1: 4 × 1, INT32")
    assert re.match(r"12 samples in 3 batches, [\d.]+ s: [\d,]+ images/s", lines[2])
    assert cli.main(["run", str(graph), "--batches", "2", "--batch-size", "2"]) == 0
    assert "4 samples in 2 batches" in capsys.readouterr().out


def test_bench_goes_node_by_node(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", str(graph), "--seconds", "0.2", "--rounds", "1", "--alone"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^{name} ", text, re.MULTILINE) for name in ("reader", "decode", "flip"))
    assert "NVIDIA" not in text


def test_bench_measures_a_cache(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (graph.parent / "pictures").rglob("*.jpg"):
        os.utime(path, (1e9, 1e9))
    arguments = ["--seconds", "0.2", "--rounds", "1", "--alone", "--cache", "memory", "--cache-at", "decode"]
    assert cli.main(["bench", str(graph), *arguments]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^with cache +[\d,]+ +[\d,.]+ +[\d,]+$", text, re.MULTILINE)
    assert re.search(r"^with the cache [\d.]+ times DALI Lab", text, re.MULTILINE)
    count = len(list((graph.parent / "pictures").rglob("*.jpg")))
    # 40 x 50 pixels of three channels, and a label.
    assert f"a cache of all {count} samples is {count * 6004 / 1e6:,.1f} MB, 6.0 kB each" in text


def test_bench_stands_beside_dali(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is what it is compared with")
    assert cli.main(["bench", str(graph), "--seconds", "0.2", "--rounds", "1"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^NVIDIA DALI +[\d,]+ +[\d,.]+ +[\d,]+$", text, re.MULTILINE)
    assert re.search(r"^[\d.]+ times NVIDIA DALI", text, re.MULTILINE)
    assert "first batch: output 0 is equal, output 1 is equal" in text
    document = json.loads(graph.read_text())
    document["nodes"]["flip"] = {"op": "mixing.mixup", "inputs": ["decode"]}
    graph.write_text(json.dumps(document))
    assert cli.main(["bench", str(graph), "--seconds", "0.1", "--rounds", "1"]) == 0
    assert "NVIDIA DALI has no such graph: " in capsys.readouterr().out


def test_bench_names_the_file(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = graph.parent / "pictures" / "cats" / "2.jpg"
    damaged.write_bytes(b"no picture")
    assert cli.main(["bench", str(graph), "--seconds", "0.1", "--alone"]) == 2
    assert "file: cats/2.jpg" in capsys.readouterr().err


def test_graphs_of_the_gallery_run_over_its_samples(capsys: pytest.CaptureFixture[str]) -> None:
    entry = built_in_folder() / "flip-horizontal"
    assert cli.main(["run", str(entry), "--batches", "1"]) == 0
    assert "output 0: " in capsys.readouterr().out
    assert cli.main(["show", str(entry)]) == 0
    assert "$photographs" in capsys.readouterr().out
    assert cli.main(["export", str(entry), "--to", "python"]) == 0
    assert "$photographs" not in capsys.readouterr().out
    assert cli.main(["show", str(entry.parent)]) == 2


def test_export_python_runs(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", str(graph), "--to", "python", "-o", str(tmp_path / "cats.py")]) == 0
    text = (tmp_path / "cats.py").read_text()
    assert "pipeline_def" in text
    compile(text, "cats.py", "exec")
    assert cli.main(["export", str(graph), "--to", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"]["flip"]["op"] == "flip"
    assert cli.main(["export", str(graph), "--to", "stone"]) == 2
    assert "python" in capsys.readouterr().err


def test_convert_and_diff(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.dali.json"
    assert cli.main(["convert", str(graph), str(copy)]) == 0
    assert cli.main(["diff", str(graph), str(copy)]) == 0
    assert capsys.readouterr().out == ""
    document = json.loads(copy.read_text())
    document["nodes"]["flip"]["arguments"] = {"horizontal": 0}
    document["nodes"]["more"] = {"op": "crop", "inputs": ["flip"]}
    copy.write_text(json.dumps(document))
    assert cli.main(["diff", str(graph), str(copy)]) == 1
    lines = capsys.readouterr().out
    assert "+ more (crop" in lines
    assert "vertical" in lines
    assert cli.main(["convert", str(graph), str(tmp_path / "a.xyz")]) == 2
    assert ".json" in capsys.readouterr().err
    assert cli.main(["convert", str(copy), str(tmp_path / "a.xyz"), "--to", "dali-serialized"]) == 0
    assert "more" in capsys.readouterr().err, "what is left out is told"
    assert cli.main(["convert", str(tmp_path / "a.xyz"), str(tmp_path / "a.py")]) == 0
    assert cli.main(["convert", str(tmp_path / "a.py"), str(tmp_path / "back.json"), "--pipeline", "pipeline"]) == 0
    assert cli.main(["diff", str(tmp_path / "a.xyz"), str(tmp_path / "back.json")]) == 0
    assert cli.main(["convert", str(tmp_path / "a.py"), str(tmp_path / "b.json"), "--pipeline", "none"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "missing.dali.json"], ["missing.dali.json"]),
        (["show", "cut.dali.json"], ["too early"]),
        (["run", "newer.dali.json"], ["version 99"]),
        (["run", "odd.dali.json"], ["flipp", "did you mean 'flip'"]),
        (["app", "--data", "nowhere"], ["nowhere"]),
        (["app", "--data", "cut.dali.json"], ["not a folder"]),
        (["app", "missing.dali.json", "--no-browser"], ["missing.dali.json"]),
    ],
)
def test_errors_are_one_clear_sentence(
    arguments: list[str],
    words: list[str],
    graph: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(graph.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(graph.parent / "cache"))
    text = graph.read_text()
    Path("cut.dali.json").write_text(text[:200])
    Path("newer.dali.json").write_text(text.replace('"version": 1', '"version": 99'))
    Path("odd.dali.json").write_text(text.replace('"flip"', '"flipp"'))
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dali-lab {arguments[0]}: ")
    assert "Traceback" not in error
    for word in words:
        assert word in error


@pytest.mark.parametrize(
    "arguments", [["app", "--port", "99999"], ["run", "x", "--batches", "0"], ["bench", "x", "--seconds", "0"]]
)
def test_wrong_options_are_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["pack", "x", "s3://bucket/packed"],
        ["index", "x", "-o", "s3://bucket/x.idx"],
        ["export", "x", "--to", "python", "-o", "s3://bucket/x.py"],
        ["show", "x", "-o", "s3://bucket/x.svg"],
        ["check", "x", "--report", "s3://bucket/report"],
        ["check", "x", "--exclude-to", "s3://bucket/bad.txt"],
    ],
)
def test_stores_are_not_written_to(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file system would have a folder `s3:` instead."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert f"copy it to '{arguments[-1]}' afterwards" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_app_serves_prints_its_address_and_ends_cleanly(graph: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
    }
    from dali_lab.studio.warming import marker

    ready = tmp_path / "kernels" / marker().parent.name / marker().name
    ready.parent.mkdir(parents=True)
    ready.touch()
    command = [sys.executable, "-m", "dali_lab", "app", "--no-browser", "--data", str(tmp_path / "pictures")]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        last = threading.Timer(LIMIT, process.kill)
        last.start()
        line = process.stdout.readline()
        last.cancel()
        found = re.search(r"(http://127\.0\.0\.1:\d+/)\?token=\S{32}", line)
        assert found is not None, f"it said {line!r}"
        keeps_cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        keeps_cookies.open(found[0], timeout=LIMIT).close()
        with keeps_cookies.open(found[1], timeout=LIMIT) as page:
            text = page.read().decode()
        assert "<title>DALI Lab</title>" in text
        assert "cdn." not in text
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 0, error
    assert "Traceback" not in error


def test_garbage_is_collected_again_once_the_app_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches for it through all that is being imported take a sixth of the time of the start."""
    seen = []

    def serve(options: object, served: Callable[[], None]) -> int:
        seen.append(gc.isenabled())
        served()
        seen.append(gc.isenabled())
        return 0

    def refuse(options: object, served: Callable[[], None]) -> int:
        raise DaliLabError("the port is taken")

    assert gc.isenabled()
    monkeypatch.setattr(app, "_serve", serve)
    assert cli.main(["app"]) == 0
    assert seen == [False, True]
    monkeypatch.setattr(app, "_serve", refuse)
    assert cli.main(["app"]) == 2
    assert gc.isenabled()


def test_command_line_starts_quickly() -> None:
    """Listing options must not import the server, a compiler or a tensor library."""
    program = (
        "import sys; from dali_lab import cli; cli.make_parser();"
        "print([m for m in ('panel', 'numba', 'torch', 'cv2', 'bokeh') if m in sys.modules])"
    )
    assert run_python("-c", program, cwd=ROOT).stdout.strip() == "[]"


def test_summary_of_an_output_with_different_shapes() -> None:
    from dali_lab.model.batch import Batch

    class Output:
        _batch = Batch.of([np.zeros((3, 4), np.float32), np.ones((3, 6), np.float32)], "HW")

    assert summary_line(Output()) == "2 × 3×4–6, FLOAT, HW, from 0 to 1"
