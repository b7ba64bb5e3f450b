"""The ten pipelines of the throughput benchmark, written once for both engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
LEVEL = 1.01 / min(STD)
"""One of 255 levels after normalisation: a half-way value may round to either side."""
DECIBELS = 2e-3


@dataclass(frozen=True)
class Benchmark:
    """One pipeline.

    Attributes
    ----------
    data
        Kind of files, see :func:`tests.benchmarks.data.folder`.
    define
        Takes the engine and the folder, returns the outputs.
    batch_size
        Samples in a batch.
    tolerance
        By how much the outputs of two engines may differ; one element in 100,000 may differ by more.
    """

    data: str
    define: Callable[[Any, str], Any]
    batch_size: int = 64
    tolerance: float = 0.0


def _read(engine: Any, root: str) -> Any:
    return engine.fn.readers.file(file_root=root, random_shuffle=True, name="Reader")[0]


def _normalize(engine: Any, images: Any, **more: Any) -> Any:
    return engine.fn.crop_mirror_normalize(images, mean=MEAN, std=STD, **more)


def decoding(engine: Any, root: str) -> Any:
    """Decode pictures."""
    return engine.fn.decoders.image(_read(engine, root))


def regions(engine: Any, root: str) -> Any:
    """Decode the random regions that training decodes."""
    return engine.fn.decoders.image_random_crop(_read(engine, root))


def training(engine: Any, root: str) -> Any:
    """Decode a random region, resize to 224, mirror, normalise."""
    fn = engine.fn
    images = fn.resize(fn.decoders.image_random_crop(_read(engine, root)), size=[224, 224])
    return _normalize(engine, images, mirror=fn.random.coin_flip())


def thumbnails(engine: Any, root: str) -> Any:
    """The same for pictures of 64 pixels, resized to 64."""
    fn = engine.fn
    images = fn.resize(fn.decoders.image_random_crop(_read(engine, root)), size=[64, 64])
    return _normalize(engine, images, mirror=fn.random.coin_flip())


def validation(engine: Any, root: str) -> Any:
    """Decode, resize the shorter side to 256, crop the centre, normalise."""
    fn = engine.fn
    images = fn.resize(fn.decoders.image(_read(engine, root)), resize_shorter=256)
    return _normalize(engine, images, crop=[224, 224])


def augment(engine: Any, root: str) -> Any:
    """Decode, resize, rotate, turn colours, brightness and contrast, normalise."""
    fn = engine.fn
    uniform = fn.random.uniform
    images = fn.resize(fn.decoders.image(_read(engine, root)), size=[256, 256])
    images = fn.rotate(images, angle=uniform(range=[-20.0, 20.0]), keep_size=True, fill_value=0)
    images = fn.hsv(images, hue=uniform(range=[-20.0, 20.0]), saturation=uniform(range=[0.7, 1.3]))
    images = fn.brightness_contrast(images, brightness=uniform(range=[0.8, 1.2]), contrast=uniform(range=[0.8, 1.2]))
    return _normalize(engine, images, crop=[224, 224], mirror=fn.random.coin_flip())


def simclr(engine: Any, root: str) -> Any:
    """Two views of each picture: random resized crop, colour twist, Gaussian blur, normalise."""
    fn = engine.fn
    uniform = fn.random.uniform
    images = fn.decoders.image(_read(engine, root))
    views = []
    for _ in range(2):
        view = fn.random_resized_crop(images, size=[224, 224])
        view = fn.color_twist(
            view,
            hue=uniform(range=[-30.0, 30.0]),
            saturation=uniform(range=[0.5, 1.5]),
            contrast=uniform(range=[0.5, 1.5]),
            brightness=uniform(range=[0.5, 1.5]),
        )
        view = fn.gaussian_blur(view, window_size=23, sigma=uniform(range=[0.1, 2.0]))
        views.append(_normalize(engine, view, mirror=fn.random.coin_flip()))
    return tuple(views)


def affine(engine: Any, root: str) -> Any:
    """Decode, resize, warp by a matrix."""
    fn = engine.fn
    images = fn.resize(fn.decoders.image(_read(engine, root)), size=[256, 256])
    return fn.warp_affine(images, matrix=[0.9, 0.2, -10.0, -0.15, 1.05, 12.0], fill_value=0)


def speech(engine: Any, root: str) -> Any:
    """Decode sound, pre-emphasis, spectrogram, mel filters, decibels."""
    fn = engine.fn
    audio, _ = fn.decoders.audio(_read(engine, root), dtype=engine.types.FLOAT, downmix=True)
    audio = fn.preemphasis_filter(audio)
    spectrum = fn.spectrogram(audio, nfft=512, window_length=320, window_step=160)
    mel = fn.mel_filter_bank(spectrum, sample_rate=16000, nfilter=80)
    return fn.to_decibels(mel, cutoff_db=-80)


def arrays(engine: Any, root: str) -> Any:
    """Read numpy arrays."""
    return engine.fn.readers.numpy(file_root=f"{root}/0", random_shuffle=True, name="Reader")


def arrays_standardized(engine: Any, root: str) -> Any:
    """Read numpy arrays and look at every element: mean 0, standard deviation 1."""
    return engine.fn.normalize(arrays(engine, root), batch=False)


BENCHMARKS = {
    "decoding": Benchmark("jpeg500", decoding),
    "training": Benchmark("jpeg500", training, tolerance=LEVEL),
    "validation": Benchmark("jpeg500", validation, tolerance=LEVEL),
    "augment": Benchmark("jpeg500", augment, tolerance=LEVEL),
    "simclr": Benchmark("jpeg500", simclr, tolerance=LEVEL),
    "training 2000 px": Benchmark("jpeg2000", training, tolerance=LEVEL),
    "thumbnails": Benchmark("jpeg64", thumbnails, 256, LEVEL),
    "affine": Benchmark("jpeg500", affine),
    "speech": Benchmark("sound", speech, tolerance=DECIBELS),
    "arrays": Benchmark("arrays", arrays),
}
EXTRA = {
    "regions": Benchmark("jpeg500", regions),
    "arrays, standardized": Benchmark("arrays", arrays_standardized, tolerance=1e-4),
}
"""Beside the ten: the limit that decoding sets to training, and arrays whose elements are looked at."""
