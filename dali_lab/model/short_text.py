"""Values and names in a few characters, on one line: for pictures of graphs, comments and differences."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from dali_lab.model import dtypes
from dali_lab.model.references import PythonReference


def short(value: object) -> str:
    """A value in a few characters."""
    if isinstance(value, dtypes.NamedEnum):
        return value.name
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}[{'×'.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)):
        parts = [short(item) for item in value[:6]]
        return f"[{', '.join([*parts, '…'] if len(value) > 6 else parts)}]"
    if isinstance(value, PythonReference):
        return value.name or value.text
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    text = repr(value) if isinstance(value, (str, bytes)) else str(value)
    # A path is known by its end.
    return text if len(text) <= 40 else f"{text[:12]}…{text[-27:]}"


def printable(text: str, length: int) -> str:
    """`text` on one line, without control characters, cut to a length."""
    clean = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in text)
    clean = re.sub(r"\s+", " ", clean)
    return clean if len(clean) <= length else clean[: length - 1] + "…"
