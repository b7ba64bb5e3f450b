"""The files that benchmarks read: photographs at three sizes, sounds and arrays, made once in the temporary folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np
import soundfile

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "rocket", "motorcycle")


def photographs() -> list[np.ndarray]:
    """A few bundled photographs, BGR."""
    from skimage import data  # where the files are there, it need not be installed

    images = []
    for name in PHOTOGRAPHS:
        image = data.stereo_motorcycle()[0] if name == "motorcycle" else getattr(data, name)()
        images.append(np.ascontiguousarray(image[..., 2::-1]))
    return images


def folder(kind: str) -> Path:
    """Files of one kind: ``jpeg500``, ``jpeg2000``, ``jpeg64``, ``sound`` or ``arrays``, in two class folders."""
    root = Path(tempfile.gettempdir()) / "dali-lab-benchmarks" / kind
    done = root / "complete"
    if done.exists():
        return root / "files"
    makers = {
        "jpeg500": lambda target: _jpegs(target, 500, 256),
        "jpeg2000": lambda target: _jpegs(target, 2000, 64),
        "jpeg64": lambda target: _jpegs(target, 64, 2048),
        "sound": _sounds,
        "arrays": _arrays,
    }
    for label in ("0", "1"):
        (root / "files" / label).mkdir(parents=True, exist_ok=True)
    makers[kind](root / "files")
    done.touch()
    return root / "files"


def _jpegs(target: Path, longest: int, count: int) -> None:
    """Photographs whose longer side has `longest` pixels, each turned and brightened a little differently."""
    sources = photographs()
    rng = np.random.default_rng(0)
    for index in range(count):
        image = sources[index % len(sources)]
        if rng.random() < 0.5:
            image = image[:, ::-1]
        scale = longest / max(image.shape[:2])
        size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        image = cv2.convertScaleAbs(image, alpha=float(rng.uniform(0.8, 1.1)))
        cv2.imwrite(str(target / str(index % 2) / f"{index:05}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 90])


def _sounds(target: Path) -> None:
    rng = np.random.default_rng(0)
    for index in range(128):
        t = np.arange(int(16000 * rng.uniform(2, 5))) / 16000
        voice = np.sin(2 * np.pi * (150 + 40 * np.sin(3 * t)) * t) + 0.3 * rng.normal(size=t.size)
        soundfile.write(target / str(index % 2) / f"{index:04}.wav", 0.3 * voice, 16000, subtype="PCM_16")


def _arrays(target: Path) -> None:
    rng = np.random.default_rng(0)
    for index in range(512):
        np.save(target / str(index % 2) / f"{index:04}.npy", rng.random((256, 256), dtype=np.float32))
