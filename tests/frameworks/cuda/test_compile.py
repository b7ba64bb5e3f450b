"""Every kernel compiles for the oldest and the newest GPU, with nothing spilt: for all others see `compile_all`."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dali_lab.kernels.cuda import nvrtc
from dali_lab.kernels.cuda.expression import Step, expression_kernel
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import HERE, Kernel, Variant, all_kernels
from dali_lab.kernels.cuda.user import UserKernel, UserSource
from tests.gpu import compile_all
from tests.gpu.compile_all import ARCHITECTURES, check, compile_job, compile_together, report


def files() -> list[tuple[str, list[Kernel]]]:
    """The kernels of each file."""
    kernels = sorted(all_kernels(), key=lambda kernel: kernel.file)
    return [(file, list(group)) for file, group in itertools.groupby(kernels, key=lambda kernel: kernel.file)]


@pytest.mark.parametrize("kernels", [pytest.param(kernels, id=file) for file, kernels in files()])
def test_kernels_compile_without_spills(kernels: list[Kernel], record_property: Callable[[str, object], None]) -> None:
    """Both architectures, with the types in turn; the kernels of a file are compiled together, which is quicker."""
    variants = [itertools.cycle(kernel.covering()) for kernel in kernels]
    for architecture in (ARCHITECTURES[0], ARCHITECTURES[-1]):
        for outcome in compile_together([next(each) for each in variants], architecture):
            record_property(outcome.label, outcome.registers)
            assert not outcome.complaint


def test_chains_of_arithmetic_compile_without_spills() -> None:
    """The longest chain, and each kind of step, for the architectures in turn."""
    long = [Step("mul", "f4", (0, 1)), *(Step(("add", "mul")[k % 2], "f4", (k + 2, k % 2)) for k in range(31))]
    every = [
        Step("mod", "f4", (0, 1)),
        Step("bitxor", "u1", (0, 0)),
        Step("lt", "b1", (0, 1)),
        Step("clamp", "f8", (2, -1, -2)),
        Step("exp", "f8", (5,)),
        Step("cast", "f2", (6,)),
        Step("sub", "f4", (7, 2)),
    ]
    for index, architecture in enumerate(ARCHITECTURES):
        steps = (long, every)[index % 2]
        kernel = expression_kernel(tuple(steps), ("u1", "f4"), ("f8", "i4"), 1 + index)
        check(kernel.variant(), architecture)


def test_an_error_says_which_kernel_and_where() -> None:
    text = "__device__ void broken(const Sample& s, i64 i) {\n  s.out[i] = nonsense;\n}"
    broken = UserKernel(UserSource("broken", text), ["u1"], "u1")
    with pytest.raises(CompileError, match=r"(?s)run_broken.*sm_90.*broken\(2\).*nonsense"):
        nvrtc.cubin(broken.variant(), "sm_90")


def test_types_that_are_compiled_together_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setenv("DALI_LAB_KERNELS", str(tmp_path))
    entry = Variant.entry

    def spoilt(variant: Variant, name: str = "entry") -> str:
        return entry(variant, name) + (" nonsense;" if variant.types == ("f2", "i4") else "")

    monkeypatch.setattr(Variant, "entry", spoilt)
    job = ("scale", (("u1", "u1"), ("f2", "i4")), "sm_90")
    right, wrong = compile_all.compile_job(job)[0]
    assert not right.complaint and "scale<f2, i4> sm_90" in wrong.complaint and "nonsense" in wrong.complaint


def test_the_architecture_is_the_device_s_or_the_last_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = (75, 80, 86, 90, 100, 120)

    class Library:
        @staticmethod
        def nvrtcGetNumSupportedArchs(count: Any) -> int:  # noqa: N802 (NVRTC's name)
            count._obj.value = len(known)
            return 0

        @staticmethod
        def nvrtcGetSupportedArchs(numbers: Any) -> int:  # noqa: N802
            numbers[:] = known
            return 0

        @staticmethod
        def nvrtcVersion(major: Any, minor: Any) -> int:  # noqa: N802
            return 0

    monkeypatch.setattr(nvrtc, "library", Library)
    for capability, architecture in (
        ((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 9), "sm_86"), ((9, 0), "sm_90"), ((10, 3), "sm_100"),
        ((12, 1), "sm_120"), ((11, 0), "compute_100"), ((13, 0), "compute_120"),
    ):  # fmt: skip
        assert nvrtc.target(*capability) == architecture
    with pytest.raises(CompileError, match="install an older"):
        nvrtc.target(7, 0)


def test_for_gpus_that_nvrtc_does_not_know_there_is_code_that_the_driver_translates() -> None:
    variant = next(iter(all_kernels()[0].covering()))
    made = nvrtc.compile_text(variant.device_source(), "compute_90", variant.label)
    assert b".version" in made.code and b".target sm_90" in made.code and made.code.endswith(b"\0")


def test_nvrtc_is_found_beside_a_package_of_the_same_name_and_suits_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried, installed = tmp_path / "carried", tmp_path / "installed"
    (carried / "nvidia").mkdir(parents=True)
    (carried / "nvidia" / "__init__.py").touch()
    libraries = (
        "nvidia/cu13/lib/libnvrtc.so.13",
        "nvidia/cu14/lib/libnvrtc.so.14",
        "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    )
    for name in (*libraries, "nvidia/cu13/lib/libnvrtc.alt.so.13"):
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).touch()
    monkeypatch.setattr(sys, "path", [str(carried), str(installed)])
    tried: list[str] = []

    def load(name: str) -> None:
        tried.append(name.removeprefix(f"{installed}/"))
        raise OSError

    monkeypatch.setattr(nvrtc.ctypes, "CDLL", load)
    monkeypatch.setattr(nvrtc, "_driver", None)
    newest, middle, oldest = libraries[1], libraries[0], libraries[2]
    system = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    for driver, order in (
        (None, [newest, middle, oldest, *system]),
        (13, [middle, oldest, *system[:2], newest, system[2]]),
        (12, [oldest, system[1], system[0], middle, newest, system[2]]),
    ):
        if driver is not None:
            nvrtc.suit_driver(driver)
        nvrtc._library.cache_clear()
        tried.clear()
        with pytest.raises(nvrtc.NvrtcMissing):
            nvrtc.library()
        assert tried == order
    nvrtc._library.cache_clear()


def test_the_second_library_of_nvrtc_is_loaded_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    for name in ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc-builtins.alt.so.13.0"):
        (folder / name).touch()
    loaded: list[str] = []
    monkeypatch.setattr(nvrtc.ctypes, "CDLL", lambda name: loaded.append(Path(name).name))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    nvrtc._library.cache_clear()
    nvrtc.library()
    nvrtc._library.cache_clear()
    assert loaded == ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"], "NVRTC 13.0 does not find it by itself"


def test_kernels_of_a_file_are_declared_in_the_module_of_its_name() -> None:
    """A text needs the structures of all its kernels, though only one of them was imported."""
    for path in HERE.glob("*.cu"):
        declared = path.with_suffix(".py").read_text()
        names = re.findall(r"void (\w+)\(const \w+Sample\* table", path.read_text())
        assert [name for name in names if f'"{name}"' not in declared] == [], path.name


def test_nvrtc_that_knows_no_offsets_compiles_without_asserting_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, ...]] = []

    def compiled(text: str, architecture: str, label: str, options: tuple[str, ...]) -> nvrtc.Compiled:
        if "offset" in label:
            raise CompileError('identifier "__builtin_offsetof" is undefined')
        given.append(options)
        return made(text, architecture, label, options)

    made = nvrtc._compiled
    monkeypatch.setattr(nvrtc, "_compiled", compiled)
    nvrtc._without_offsets.cache_clear()
    variant = next(iter(all_kernels()[0].covering()))
    text = variant.device_source().replace("__builtin_offsetof", "not_known")
    assert nvrtc.compile_text(text, "sm_90", variant.label).code
    nvrtc._without_offsets.cache_clear()
    assert len(given) == 1 and "static_assert" in given[0][0]
