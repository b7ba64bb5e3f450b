"""Other libraries' forms of a pipeline."""

from __future__ import annotations

from dali_lab.formats.exported import left_out
from dali_lab.formats.others.torchvision import dumps
from dali_lab.formats.registry import Format, register

register(Format("torchvision", "a Python module of torchvision transforms", (".torchvision.py",), dumps, lost=left_out))
