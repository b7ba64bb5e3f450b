"""Every kernel compiles for every architecture that is supported, with nothing spilt; no GPU is needed for that."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from dali_lab.kernels.cuda import nvrtc
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import Kernel, Variant, all_kernels
from dali_lab.kernels.cuda.user import UserKernel, UserSource

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
REGISTERS = 128
"""Registers of a thread with which 512 threads still fit on a multiprocessor."""


pytestmark = pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


def check(variant: Variant, architecture: str) -> int:
    """Compile a kernel for an architecture; its registers."""
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
        record_property(f"{variant.label} {architecture}", check(variant, architecture))


def test_an_error_says_which_kernel_and_where() -> None:
    text = "__device__ void broken(const Sample& s, i64 i) {\n  s.out[i] = nonsense;\n}"
    broken = UserKernel(UserSource("broken", text), ["u1"], "u1")
    with pytest.raises(CompileError, match=r"(?s)run_broken.*sm_90.*broken\(2\).*nonsense"):
        nvrtc.cubin(broken.variant(), "sm_90")


def test_types_that_are_compiled_together_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.gpu.compile_all import compile_job, report

    monkeypatch.setenv("DALI_LAB_KERNELS", str(tmp_path))
    kernel = next(kernel for kernel in all_kernels() if kernel.name == "scale")
    types = (("u1", "u1"), ("f2", "i4"), ("f4", "f4"))
    outcomes, known = compile_job((kernel.name, types, "sm_90"))
    assert not known
    for each, outcome in zip(types, outcomes, strict=True):
        variant = kernel.variant(*each)
        assert outcome.label == f"{variant.label} sm_90" and not outcome.complaint
        assert outcome.registers == check(variant, "sm_90")
    assert compile_job((kernel.name, types, "sm_90")) == (outcomes, True)
    assert "3 compilations for sm_90" in report(outcomes, ["sm_90"], 0, 1.0)


def test_of_types_that_are_compiled_together_the_wrong_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.gpu import compile_all

    monkeypatch.setenv("DALI_LAB_KERNELS", str(tmp_path))
    entry = Variant.entry

    def spoilt(variant: Variant, name: str = "entry") -> str:
        return entry(variant, name) + (" nonsense;" if variant.types == ("f2", "i4") else "")

    monkeypatch.setattr(Variant, "entry", spoilt)
    job = ("scale", (("u1", "u1"), ("f2", "i4")), "sm_90")
    right, wrong = compile_all.compile_job(job)[0]
    assert not right.complaint and "scale<f2, i4> sm_90" in wrong.complaint and "nonsense" in wrong.complaint
