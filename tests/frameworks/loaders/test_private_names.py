"""Private names of `experimental.torchvision`, which needs PyTorch."""

from __future__ import annotations

import pytest

from tests.conformance.test_private_names import OF_TORCHVISION, installed, missing_here, missing_there
from tests.together import with_each

__all__ = ["installed"]  # a fixture


@with_each("name", OF_TORCHVISION)
def test_nvidia_dali_has_each_private_name(name: str) -> None:
    assert missing_there(name) == []


@pytest.mark.parametrize("name", OF_TORCHVISION)
def test_each_private_name_stands_for_something_here(installed: None, name: str) -> None:
    assert missing_here(name) == []
