"""Kernels neither leave their memory nor do what C++ leaves undefined: AddressSanitizer and UBSan on the host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dali_lab.kernels.cuda import host
from tests.programs import run_python

ROOT = Path(__file__).parents[3]


def _sanitizer() -> str | None:
    """The runtime library of AddressSanitizer, which must be loaded before Python."""
    try:
        asked = [host.compiler(), "-print-file-name=libasan.so"]
    except host.CompileError:
        return None
    found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    return found if Path(found).is_absolute() else None


pytestmark = pytest.mark.skipif(_sanitizer() is None, reason="needs g++ with AddressSanitizer")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python(
        *arguments,
        status=None,
        cwd=ROOT,
        limit=800,
        LD_PRELOAD=_sanitizer() or "",
        ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0",
        DALI_LAB_SANITIZE="1",
        PYTHONMALLOC="malloc",
    )


def test_small_and_odd_samples_stay_in_their_memory() -> None:
    done = _run("-m", "tests.frameworks.cuda.sanitized")
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-4000:])


def test_a_kernel_that_leaves_its_memory_is_found() -> None:
    program = """
import numpy as np
import dali_lab
from dali_lab import fn
from dali_lab.plugin import cuda
cuda.register("beyond", source="__device__ void beyond(const Sample& s, i64 i) { s.out[i] = s.in0[i + 1]; }")
pipeline = dali_lab.Pipeline(2, 1, 0, gpu="emulated")
with pipeline:
    data = fn.external_source(source=lambda: [np.ones((3, 5), np.uint8)] * 2)
    pipeline.set_outputs(fn.experimental.cuda_kernel(data.gpu(), kernel="beyond", device="gpu"))
pipeline.run()[0].as_cpu()
"""
    done = _run("-c", program)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr and "beyond" in done.stderr
