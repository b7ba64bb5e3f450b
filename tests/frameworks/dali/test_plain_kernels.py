"""With the machine-dependent parts of the kernels switched off, results are the same bits, and NVIDIA DALI's."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab.kernels.cpu.machine import OFF, PARTS
from dali_lab.schema import Case, samples
from tests.conformance.harness import compare, declared, run

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
import nvidia.dali.fn  # noqa: E402
import nvidia.dali.types  # noqa: E402, F401

_WIDE = ([samples.picture(60, 90), samples.picture(45, 70)], "HWC")
OPERATORS = {
    "sound and files": {"audio_resample": 1, "decoders.image": 2, "random.normal": 1, "to_decibels": 1},
    "pictures": {"crop_mirror_normalize": 1, "jpeg_compression_distortion": 1, "resize": 2},
    "places": {"warp_affine": 1},
}
"""Operators whose kernels have such parts, and how many of their cases are taken; each group has a process."""
SWITCHED_OFF = {group: {*PARTS} if group == "places" else {*PARTS} - {"linking"} for group in OPERATORS}
"""Linking is the same for all kernels, and without it they take twice as long to be compiled."""
WIDE = {
    "sound and files": [],
    "pictures": [
        ("resize", Case((_WIDE,), {"size": (40, 50), "antialias": True})),
        ("crop_mirror_normalize", Case((_WIDE,), {"crop": (40, 50), "mirror": 1, "mean": [9.0], "std": [3.0]})),
    ],
    "places": [("rotate", Case((_WIDE,), {"angle": 20.0, "fill_value": 7}))],
}
"""Cases of pictures of the size at which vectors are used."""
_CHILD = """
import sys
import numpy as np
import dali_lab
from dali_lab.kernels.cpu.machine import OFF
from tests.frameworks.dali import test_plain_kernels as cases

assert OFF == cases.SWITCHED_OFF[sys.argv[2]]
results = {}
for name, case in cases.chosen(sys.argv[2]):
    for sample in cases.samples_of(dali_lab, name, case):
        results[f"{len(results):05}"] = sample
np.savez(sys.argv[1], **results)
"""


def chosen(group: str) -> list[tuple[str, Case]]:
    """Operators and cases of a group."""
    return [(name, case) for name, count in OPERATORS[group].items() for case in declared(name)[:count]] + WIDE[group]


def samples_of(engine: Any, name: str, case: Case) -> list[np.ndarray]:
    """Samples of all outputs in order."""
    return [sample for row in run(engine, name, case) for output in row for sample in output["samples"]]


@pytest.mark.skipif(bool(OFF), reason="DALI_LAB_PLAIN switches parts off")
@pytest.mark.parametrize("group", OPERATORS)
def test_same_bits_with_parts_off(tmp_path: Path, group: str) -> None:
    path = tmp_path / "plain.npz"
    environment = {**os.environ, "DALI_LAB_PLAIN": ",".join(SWITCHED_OFF[group]), "DALI_LAB_COMPILE": "at-once"}
    subprocess.run([sys.executable, "-c", _CHILD, str(path), group], env=environment, check=True)
    with np.load(path) as plain:
        arrays = [plain[name] for name in sorted(plain.files)]
    fast = [(name, case, sample) for name, case in chosen(group) for sample in samples_of(dali_lab, name, case)]
    assert len(arrays) == len(fast) > 4
    for array, (name, case, sample) in zip(arrays, fast, strict=True):
        np.testing.assert_array_equal(array, sample, err_msg=f"{name} {dict(case.arguments)}")


@pytest.mark.parametrize(("name", "case"), [pytest.param(*each, id=each[0]) for each in chain(*WIDE.values())])
def test_cases_of_this_module_are_those_of_dali(name: str, case: Case) -> None:
    """The other cases are compared with NVIDIA DALI by :mod:`tests.frameworks.dali.test_operators`."""
    compare(run(dali_lab, name, case), run(dali, name, case), case)
