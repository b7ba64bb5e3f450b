"""Every kernel compiles for every architecture that is supported, with nothing spilt; no GPU is needed for that."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from dali_lab.kernels.cuda import nvrtc
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import Kernel, Variant, all_kernels
from dali_lab.kernels.cuda.user import UserKernel, UserSource

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
REGISTERS = 128
"""Registers of a thread with which 512 threads still fit on a multiprocessor."""


def _installed() -> bool:
    try:
        nvrtc.library()
    except nvrtc.NvrtcMissing:
        return False
    return True


pytestmark = pytest.mark.skipif(not _installed(), reason="NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


def _check(variant: Variant, architecture: str) -> int:
    made = nvrtc.compile_text(variant.device_source(), architecture, variant.label, ("--ptxas-options=-v",))
    assert made.cubin
    assert made.spills == 0, f"{variant.label} spills {made.spills} bytes on {architecture}"
    assert 0 < made.registers <= REGISTERS, f"{variant.label} needs {made.registers} registers on {architecture}"
    return made.registers


@pytest.mark.parametrize("kernel", all_kernels(), ids=lambda kernel: f"{kernel.file}-{kernel.name}")
def test_kernels_compile_without_spills(kernel: Kernel, record_property: Callable[[str, object], None]) -> None:
    """Every architecture, with the types in turn."""
    variants = list(kernel.covering())
    for variant, architecture in zip(itertools.cycle(variants), ARCHITECTURES, strict=False):
        record_property(f"{variant.label} {architecture}", _check(variant, architecture))


def test_an_error_says_which_kernel_and_where() -> None:
    text = "__device__ void broken(const Sample& s, i64 i) {\n  s.out[i] = nonsense;\n}"
    broken = UserKernel(UserSource("broken", text), ["u1"], "u1")
    with pytest.raises(CompileError, match=r"(?s)run_broken.*sm_90.*broken\(2\).*nonsense"):
        nvrtc.cubin(broken.variant(), "sm_90")
