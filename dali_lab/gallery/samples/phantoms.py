"""Volumes like scans of a head, made of ellipsoids.

The ellipsoids are those of Kak and Slaney's head phantom ("Principles of Computerized Tomographic Imaging", 1988,
table 3.1 and its extension to three dimensions), with the greater contrast that is usual.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

# Brightness, half axes x y z, centre x y z, rotation about z in degrees.
_ELLIPSOIDS = (
    (1.0, 0.69, 0.92, 0.81, 0.0, 0.0, 0.0, 0.0),
    (-0.8, 0.6624, 0.874, 0.78, 0.0, -0.0184, 0.0, 0.0),
    (-0.2, 0.11, 0.31, 0.22, 0.22, 0.0, 0.0, -18.0),
    (-0.2, 0.16, 0.41, 0.28, -0.22, 0.0, 0.0, 18.0),
    (0.2, 0.21, 0.25, 0.41, 0.0, 0.35, -0.15, 0.0),
    (0.2, 0.046, 0.046, 0.05, 0.0, 0.1, 0.25, 0.0),
    (0.2, 0.046, 0.046, 0.05, 0.0, -0.1, 0.25, 0.0),
    (0.2, 0.046, 0.023, 0.05, -0.08, -0.605, 0.0, 0.0),
    (0.2, 0.023, 0.023, 0.02, 0.0, -0.606, 0.0, 0.0),
    (0.2, 0.023, 0.046, 0.02, 0.06, -0.605, 0.0, 0.0),
)
_DEPTH, _SIDE = 32, 96


def write(folder: Path) -> None:
    """Write four heads that differ in size, tilt and noise."""
    random = np.random.default_rng(1)
    for number in range(4):
        scale = 1.0 + 0.06 * number
        values = phantom(scale, 6.0 * number - 9.0) + random.normal(0, 0.012, (_DEPTH, _SIDE, _SIDE))
        volume = np.clip(values * 220 + 8, 0, 255).astype(np.uint8)
        np.save(folder / f"{number}.npy", volume[..., None])


def phantom(scale: float, tilt: float) -> npt.NDArray[np.float64]:
    """Brightness ``[depth, height, width]`` from 0 to 1, of a head `scale` times smaller, turned by `tilt` degrees."""
    z, y, x = np.meshgrid(
        np.linspace(-0.8, 0.8, _DEPTH), np.linspace(1, -1, _SIDE), np.linspace(-1, 1, _SIDE), indexing="ij"
    )
    turn = np.deg2rad(tilt)
    x, y = scale * (x * np.cos(turn) + y * np.sin(turn)), scale * (y * np.cos(turn) - x * np.sin(turn))
    values: npt.NDArray[np.float64] = np.zeros((_DEPTH, _SIDE, _SIDE))
    for brightness, a, b, c, x0, y0, z0, degrees in _ELLIPSOIDS:
        angle = np.deg2rad(degrees)
        u = (x - x0) * np.cos(angle) + (y - y0) * np.sin(angle)
        v = (y - y0) * np.cos(angle) - (x - x0) * np.sin(angle)
        values[(u / a) ** 2 + (v / b) ** 2 + ((z - z0) / c) ** 2 <= 1] += brightness
    return values
