"""torchvision, made importable before a test imports what imports it, such as Lightning."""

from __future__ import annotations

from tests.benchmarks.loaders import import_torchvision

import_torchvision()
