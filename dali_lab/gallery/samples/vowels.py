"""Sounds like speech: a voice that glides through vowels, with pauses and a hiss between.

Vowels are a glottal pulse train through three resonances, the formants of Peterson and Barney's men
("Control Methods Used in a Study of the Vowels", 1952).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

RATE = 16_000
_FORMANTS = {"i": (270, 2290, 3010), "e": (530, 1840, 2480), "a": (730, 1090, 2440), "o": (570, 840, 2410)}
_FORMANTS["u"] = (300, 870, 2240)
_WORDS = ("ai_ou", "uo_ai", "eaeio", "i_aou")


def write(folder: Path) -> None:
    """Write four sounds as WAV files."""
    import soundfile

    for number, word in enumerate(_WORDS):
        sound = spoken(word, 105 + 22 * number, np.random.default_rng(number))
        soundfile.write(folder / f"{number}.wav", sound, RATE, subtype="PCM_16")


def spoken(word: str, pitch: float, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """A second and a half of vowels; ``_`` is a hiss. Samples are between -1 and 1."""
    length = int(1.5 * RATE / len(word))
    parts = []
    phase = 0.0
    for index, letter in enumerate(word):
        rise = np.minimum(1, np.minimum(np.arange(length), length - np.arange(length)) / 700)
        if letter == "_":
            hiss = np.diff(random.normal(0, 1, length + 1))
            parts.append(0.12 * hiss / np.abs(hiss).max() * rise)
            continue
        frequency = pitch * (1.08 - 0.16 * (index + np.arange(length) / length) / len(word))
        phases = phase + np.cumsum(frequency / RATE)
        phase = float(phases[-1])
        voice = (np.diff(np.floor(phases), prepend=np.floor(phases[0])) > 0).astype(np.float64)
        for formant, width in zip(_FORMANTS[letter], (60, 90, 150), strict=True):
            radius, angle = float(np.exp(-np.pi * width / RATE)), 2 * np.pi * formant / RATE
            voice = _resonance(voice, 1 - radius, 2 * radius * float(np.cos(angle)), -(radius**2))
        parts.append(0.8 * voice / np.abs(voice).max() * rise)
    sound = np.concatenate(parts) + random.normal(0, 0.002, length * len(word))
    return sound.astype(np.float32)


def _resonance(values: npt.NDArray[np.float64], gain: float, first: float, second: float) -> npt.NDArray[np.float64]:
    """A filter of two poles: ``out[i] = gain * in[i] + first * out[i - 1] + second * out[i - 2]``."""
    one = two = 0.0
    out = []
    for value in values.tolist():
        one, two = gain * value + first * one + second * two, one
        out.append(one)
    return np.array(out)
