"""The plain install, without the packages of extras: the same numbers, or an error that names the extra."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

from dali_lab.model.extras import installed
from tests.programs import run_python

OF_EXTRAS = (
    *(
        "cv2",
        "imagecodecs",
        "nvidia",
        "matplotlib",
        "panel",
        "tornado",
        "anywidget",
        "ipywidgets",
        "torch",
        "av",
        "skimage",
    ),
    "ray",
)

PROGRAM = f"""
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OF_EXTRAS}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)

sys.meta_path.insert(0, Missing())
sys.path_importer_cache.clear()
import importlib.util
looked_up = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in {OF_EXTRAS} else looked_up(name, *rest)

import numpy as np
from dali_lab import fn, pipeline_def, types
from dali_lab.cli import main
from dali_lab.gallery.samples import annotated, photographs
from dali_lab.kernels.cpu import spectra

@pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=3)
def pictures():
    encoded, labels = fn.readers.file(file_root=str(photographs()), random_shuffle=True)
    decoded = fn.jpeg_compression_distortion(fn.resize(fn.decoders.image_random_crop(encoded), size=64), quality=30)
    return decoded, labels, fn.experimental.debayer(decoded[:, :, 0], blue_position=[0, 1], algorithm="bilinear_ocv")

images, labels, raw = pictures().run()
assert images.shape() == [(64, 64, 3)] * 2
assert len(list(annotated().glob("*.mask.png"))) == 4

for size in (15, 16, 400):
    rows = np.random.default_rng(size).standard_normal((9, size)).astype(np.float32)
    expected = np.fft.rfft(rows.astype(np.float64))
    packed = np.empty(rows.shape)
    packed[:, 0], packed[:, 1::2] = expected[:, 0].real, expected[:, 1:].real
    packed[:, 2::2] = expected[:, 1 : (size + 1) // 2].imag
    spectra.transform(rows)
    np.testing.assert_allclose(rows, packed, atol=1e-4)

def refused(make):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return make()
    try:
        pipeline().run()
    except Exception as error:
        print(str(error).splitlines()[0])

bytes_ = lambda shape, value=0: fn.constant(idata=[value] * int(np.prod(shape)), shape=list(shape), dtype=types.UINT8)
refused(lambda: fn.experimental.debayer(bytes_((8, 8)), blue_position=[0, 0], algorithm="vng_ocv"))
refused(lambda: fn.optical_flow(fn.reshape(bytes_((2, 16, 16, 3)), layout="FHWC")))
refused(lambda: fn.decoders.inflate(bytes_((9,), 7), shape=[4]))
for command in (["app"], ["gallery", "build", "site"]):
    print(command[0], main(command))

import dali_lab
refused(lambda: dali_lab.show)
refused(lambda: importlib.import_module("dali_lab.plugin.pytorch"))
refused(lambda: importlib.import_module("dali_lab.experimental.dynamic.pytorch.nodes"))
refused(lambda: fn.torch_python_function(bytes_((3,)), function=lambda array: array))
refused(lambda: importlib.import_module("dali_lab.experimental.dynamic").tensor([1]).torch())
refused(lambda: importlib.import_module("dali_lab.plugin.ray").dataset)
"""


def test_plain_install_has_the_same_numbers_or_names_the_extra() -> None:
    done = run_python("-c", PROGRAM)
    told = done.stdout.splitlines() + done.stderr.splitlines()
    for purpose, extra in (
        ("the algorithm 'vng_ocv' takes cv2", "video"),
        ("it takes cv2", "video"),
        ("LZ4 takes imagecodecs", "images"),
        ("the app takes tornado", "studio"),
        ("building the gallery takes cv2", "studio"),
        ("dali_lab.show takes cv2", "studio"),
        ("a pipeline on Ray takes ray", "ray"),
    ):
        expected = f"{purpose}, which is not installed: pip install 'dali-lab[{extra}]'"
        assert any(expected in line for line in told), (expected, told)
    imports = [line for line in told if "No module named 'torch': pip install 'dali-lab[torch]'" in line]
    assert len(imports) == 4, told


def test_a_folder_with_the_name_of_a_package_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tidepool").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not installed("tidepool")
    (tmp_path / "tidepool" / "__init__.py").touch()
    importlib.invalidate_caches()
    assert installed("tidepool")


def test_every_extra_that_is_named_exists() -> None:
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (root / "docs" / "start" / "install.md").read_text()
    for extra in extras.keys() - {"test"}:
        assert f"| `{extra}` |" in page
