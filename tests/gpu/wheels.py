"""Wheels for a machine with a GPU and no network: fetched here in pieces that may travel, put together there.

``python -m tests.gpu.wheels FOLDER`` fetches what such a machine usually lacks into ``FOLDER/1``, ``FOLDER/2`` and so
on, none larger than ``--piece`` MiB (a wheel that is larger is cut), and prints sizes and the commands for each piece.
``--dali`` adds NVIDIA DALI, to stand beside in the benchmark. On the other machine ``on_a_gpu.sh`` calls
``python tests/gpu/wheels.py --install STORE``; that part needs nothing but pip.
"""

# ruff: noqa: T201 (what it prints is what it is for)
from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = (
    "nvidia-nvimgcodec-cu13",
    "nvidia-nvjpeg",
    "imagecodecs",
    "simplejpeg",
    "soundfile",
    "cffi",
    "pycparser",
    "graphviz",
)
"""Packages that a machine for PyTorch and CuPy lacks; it has CuPy, NVRTC, NumPy, Numba, OpenCV, scikit-image, protobuf,
pytest, pytest-xdist, hypothesis, packaging and typing-extensions."""
DALI = (
    "nvidia-dali-cuda130==2.4.0",
    "nvidia-libnvcomp-cu13==5.3.0.16",
    "nvidia-nvjpeg2k-cu13",
    "nvidia-nvtiff-cu13",
    "astunparse",
    "gast",
    "libcst",
    "makefun",
    "nvtx",
    "optree",
    "six",
)
GLIBC = (39, 35, 34, 31, 28, 27, 24, 17, 12, 5)
"""Minor versions of the C library whose wheels are taken."""
PART = ".part"

# A wheel may bring an `nvidia` that hides what is installed under that name already.
SHARED = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"


def fetch(names: list[str], folder: Path, python: str) -> None:
    """Download wheels for a version of Python on Linux on x86-64."""
    kinds = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC] + ["manylinux2014_x86_64", "manylinux1_x86_64"]
    platforms = [word for kind in kinds for word in ("--platform", kind)]
    only = ["--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *only, *platforms, "-d", folder, *names], check=True)


def pieces(files: list[Path], most: int) -> list[list[tuple[Path, int, int]]]:
    """Files in groups of at most `most` bytes: ``(file, start, stop)``, the whole of it where it fits."""
    cuts = [
        (file, start, min(start + most, file.stat().st_size))
        for file in sorted(files, key=lambda file: -file.stat().st_size)
        for start in range(0, file.stat().st_size, most)
    ]
    groups: list[list[tuple[Path, int, int]]] = []
    for cut in cuts:
        size = cut[2] - cut[1]
        room = (group for group in groups if sum(stop - start for _, start, stop in group) + size <= most)
        group = next(room, None)
        if group is None:
            groups.append([cut])
        else:
            group.append(cut)
    return groups


def write(groups: list[list[tuple[Path, int, int]]], folder: Path) -> None:
    """Write groups into folders ``1``, ``2`` and so on; parts of a file have their number in the name."""
    for number, group in enumerate(groups, 1):
        place = folder / str(number)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for file, start, stop in group:
            whole = start == 0 and stop == file.stat().st_size
            name = file.name if whole else f"{file.name}{PART}{start:012}of{file.stat().st_size:012}"
            with file.open("rb") as source, (place / name).open("wb") as target:
                source.seek(start)
                target.write(source.read(stop - start))


def join(folder: Path) -> None:
    """Put parts together; raises :class:`ValueError` for a wheel whose parts are not all there."""
    names = {part.name.split(PART)[0] for part in folder.glob(f"*{PART}*")}
    for name in sorted(names):
        parts = sorted(folder.glob(f"{name}{PART}*"))
        size = int(parts[0].name.rsplit("of", 1)[1])
        there = sum(part.stat().st_size for part in parts)
        if there != size:
            raise ValueError(f"{name}: {there} of {size} bytes are there, in {len(parts)} parts")
        with (folder / name).open("wb") as target:
            for part in parts:
                target.write(part.read_bytes())
        for part in parts:
            part.unlink()


def install(store: Path) -> None:
    """Install the wheels of a folder into its folder ``site``, without a network and beside what is installed."""
    join(store)
    site = store / "site"
    shutil.rmtree(site, ignore_errors=True)
    plain = ["--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--disable-pip-version-check"]
    wheels = sorted(store.glob("*.whl"))
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *plain, "--target", site, *wheels], check=True)
    if (site / "nvidia").is_dir():
        (site / "nvidia" / "__init__.py").write_text(SHARED)
    (site / "complete").touch()


def main() -> int:
    """Fetch, or install."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--install", action="store_true", help="install what lies in the folder")
    parser.add_argument("--python", default="3.12", help="version of Python there")
    parser.add_argument("--piece", type=int, default=48, help="MiB that may travel at a time")
    parser.add_argument("--dali", action="store_true", help="NVIDIA DALI as well")
    parser.add_argument("--also", nargs="*", default=[], help="other packages")
    arguments = parser.parse_args()
    folder = arguments.folder
    if arguments.install:
        install(folder)
        return 0
    whole = folder / "whole"
    shutil.rmtree(whole, ignore_errors=True)
    fetch([*NAMES, *(DALI if arguments.dali else ()), *arguments.also], whole, arguments.python)
    files = sorted(whole.glob("*.whl"), key=lambda file: -file.stat().st_size)
    most = arguments.piece << 20
    for file in files:
        size = file.stat().st_size
        cut = f", in {-(-size // most)} parts" if size > most else ""
        print(f"{size / (1 << 20):8.2f} MiB  {file.name}{cut}")
    groups = pieces(files, most)
    write(groups, folder)
    print(f"{sum(file.stat().st_size for file in files) / (1 << 20):8.2f} MiB in {len(groups)} pieces")
    shutil.rmtree(whole)
    for number in range(1, len(groups) + 1):
        part = " wheels" if number < len(groups) else ""
        print(f"with {folder}/{number}: WHEELS={folder}/{number} bash tests/gpu/on_a_gpu.sh RESULTS{part}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
