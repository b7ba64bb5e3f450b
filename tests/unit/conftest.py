"""Fixtures for tests of several folders."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def fast_jpeg() -> None:
    """Skip what needs libjpeg; only compiled code finds it, which is not compiled where tests are collected."""
    from dali_lab.codecs.backends import libjpeg

    if not libjpeg.available():
        pytest.skip("neither imagecodecs nor Pillow brings libjpeg along")
