"""The script for a machine with a GPU, its wheels, and the files that remain when it fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.gpu import wheels
from tests.gpu.conftest import note_if_lost
from tests.programs import LIMIT, run_python

SCRIPT = Path(__file__).with_name("on_a_gpu.sh")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None or os.name != "posix", reason="needs bash")


def _wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    """A wheel of a package, of modules given by their texts."""
    path = folder / f"{name}-1-py3-none-any.whl"
    info = f"{name}-1.dist-info"
    texts = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in {**texts, f"{info}/RECORD": "".join(f"{each},,\n" for each in texts)}.items():
            archive.writestr(place, text)
    return path


def test_wheels_travel_in_pieces(tmp_path: Path) -> None:
    files = []
    for index, size in enumerate((250, 90, 30, 5)):
        files.append(tmp_path / f"{index}.whl")
        files[-1].write_bytes(bytes(range(256))[:size])
    groups = wheels.pieces(files, 100)
    wheels.write(groups, tmp_path / "out")
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == len(groups) >= 4
    assert all(sum(file.stat().st_size for file in folder.iterdir()) <= 100 for folder in folders)
    store = tmp_path / "store"
    store.mkdir()
    cut = [file for folder in folders for file in folder.iterdir() if wheels.PART in file.name]
    assert len(cut) == 3
    shutil.copy(cut[0], store)
    with pytest.raises(ValueError, match=r"0\.whl: 100 of 250 bytes are there, in 1 parts"):
        wheels.join(store)
    for folder in folders:
        for file in folder.iterdir():
            shutil.copy(file, store)
    wheels.join(store)
    assert {file.name: file.read_bytes() for file in store.iterdir()} == {
        file.name: file.read_bytes() for file in files
    }


def test_what_is_carried_stands_beside_what_is_installed_under_the_same_name(tmp_path: Path) -> None:
    store, installed = tmp_path / "store", tmp_path / "installed"
    store.mkdir()
    _wheel(store, "carried", {"nvidia/__init__.py": "", "nvidia/carried.py": "WHERE = 'carried'\n"})
    wheels.install(store)
    (installed / "nvidia").mkdir(parents=True)
    (installed / "nvidia" / "there.py").write_text("WHERE = 'installed'\n")
    code = "import nvidia.carried, nvidia.there; print(nvidia.carried.WHERE, nvidia.there.WHERE)"
    path = os.pathsep.join(map(str, (store / "site", installed)))
    done = run_python("-c", code, PYTHONPATH=path)
    assert done.stdout.split() == ["carried", "installed"], done.stderr
    assert (store / "site" / "complete").exists()


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with a ``python3`` for which pytest takes for ever and the benchmark fails."""
    folder = tmp_path / "bin"
    folder.mkdir()
    python = folder / "python3"
    python.write_text(
        "#!/usr/bin/env bash\n"
        'case "$*" in\n'
        "    *import*) exit 1 ;;\n"
        '    *pytest*) echo "it begins"; sleep 60 ;;\n'
        '    *look*) echo "a GPU"; exit "${LOOK:-0}" ;;\n'
        '    *benchmark*) echo "a table"; exit 3 ;;\n'
        "esac\n"
    )
    python.chmod(0o755)
    return folder


def _script(machine: Path, *parts: str, **settings: str) -> tuple[int, str, Path]:
    results = machine.parent / "results"
    environment = {**os.environ, **settings, "PATH": f"{machine}:{os.environ['PATH']}", "STORE": str(machine / "store")}
    done = subprocess.run(
        ["bash", str(SCRIPT), str(results), *parts], env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    return done.returncode, (results / "summary.txt").read_text(), results


def test_each_part_ends_in_time_and_the_next_one_follows(machine: Path) -> None:
    code, summary, results = _script(machine, LIMIT="2", LEAST="1")
    assert code == 1
    assert [line.split(",")[-1].strip() for line in summary.splitlines() if "cases" in line or "memory" in line] == [
        "out of time"
    ] * 2
    assert "look: status 0" in summary and "benchmark: status 3" in summary
    logs = {name: (results / f"{name}.log").read_text().split("\n")[0] for name in ("look", "cases", "benchmark")}
    assert logs == {"look": "a GPU", "cases": "it begins", "benchmark": "a table"}


def test_without_a_gpu_nothing_follows(machine: Path) -> None:
    code, summary, _ = _script(machine, LOOK="2")
    assert code == 2 and len(summary.splitlines()) == 1


def test_parts_for_which_no_time_is_left_are_named(machine: Path) -> None:
    code, summary, _ = _script(machine, "look", "benchmark", "nonsense", TOTAL="1", LEAST="5")
    assert code == 1
    assert summary.count("no time was left") == 2 and "no part 'nonsense'" in summary


def test_wheels_that_cannot_be_installed_are_told(machine: Path) -> None:
    carried = machine.parent / "carried"
    carried.mkdir()
    (carried / "broken.whl").write_bytes(b"no archive")
    code, summary, _ = _script(machine, "wheels", WHEELS=str(carried))
    assert code == 0 and "broken.whl are kept" in summary
    (machine / "python3").write_text("#!/usr/bin/env bash\necho 'no pip here' >&2\nexit 1\n")
    code, summary, _ = _script(machine, "look")
    assert code == 1 and "not installed" in summary and "no pip here" in summary


@pytest.mark.parametrize(
    ("words", "marked", "lost"),
    [
        ("cudaErrorIllegalAddress: an illegal memory access was encountered", True, True),
        ("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", True, True),
        ("cudaErrorMemoryAllocation: out of memory", True, False),
        ("cudaErrorIllegalAddress", False, False),
    ],
)
def test_a_lost_gpu_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, marked: bool, lost: bool
) -> None:
    notes = tmp_path / "lost.log"
    monkeypatch.setenv("DALI_LAB_GPU_NOTES", str(notes))
    item = SimpleNamespace(nodeid="the test", get_closest_marker=lambda name: marked or None)
    report = SimpleNamespace(failed=True, longreprtext=f"E   CUDARuntimeError: {words}")
    assert note_if_lost(item, report) is lost  # type: ignore[arg-type]
    assert notes.exists() is lost and (not lost or notes.read_text().startswith("== the test\n"))
