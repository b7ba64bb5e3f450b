"""Kernels whose blocks work together in shared memory: one launch, the numbers of the CPU, and no races."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, types
from dali_lab.kernels.cuda import host
from dali_lab.kernels.cuda.audio import SPECTRUM
from dali_lab.kernels.cuda.convolve import CONVOLVE_PLANE
from dali_lab.kernels.cuda.kernel import HERE, Variant
from tests.programs import LIMIT

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


def _blurred(gpu: str, data: list[np.ndarray], layout: str, **arguments: Any) -> tuple[list[np.ndarray], int]:
    """A blur's results and its launches."""
    pipeline = Pipeline(len(data), 2, 0, gpu=gpu)
    with pipeline:
        images = fn.external_source(source=lambda: data, layout=layout)
        pipeline.set_outputs(fn.gaussian_blur(images if gpu == "never" else images.gpu(), **arguments))
    output = pipeline.run()[0].as_cpu()
    found = [np.array(output.at(index)) for index in range(len(data))]
    launches = [row["gpu_launches"] for row in pipeline.executor_statistics().values() if "gpu_launches" in row]
    pipeline.close()
    return found, sum(launches)


@pytest.mark.parametrize(
    ("layout", "arguments", "launches"),
    [
        ("HWC", {"sigma": 2.0}, 1),
        ("HWC", {"window_size": (97, 5)}, 1),
        ("HWC", {"window_size": (5, 131)}, 1),
        ("HWC", {"window_size": (99, 5)}, 2),
        ("HWC", {"window_size": (1, 5)}, 1),
        ("CHW", {"sigma": 1.0, "dtype": types.FLOAT}, 1),
        ("FHWC", {"sigma": 1.5}, 1),
        ("DHWC", {"sigma": 0.8}, 2),
    ],
    ids=str,
)
def test_a_blur_is_one_launch_where_its_window_fits(layout: str, arguments: dict[str, Any], launches: int) -> None:
    rng = np.random.default_rng(3)
    sizes = {"F": (2, 3), "D": (4, 2), "H": (33, 70), "W": (65, 22), "C": (3, 1)}
    data = [rng.integers(0, 256, [sizes[letter][k] for letter in layout], np.uint8) for k in (0, 1)]
    found, counted = _blurred("emulated", data, layout, **arguments)
    expected, _ = _blurred("never", data, layout, **arguments)
    assert counted == launches
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right, strict=True)


RACES = """
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
static pthread_barrier_t together;
#define HOST_BARRIER pthread_barrier_wait(&together)
%s
int main() {
    const int threads = 7;
    %s
    pthread_barrier_init(&together, nullptr, threads);
    std::vector<std::thread> block;
    for (int t = 0; t < threads; ++t) block.emplace_back([&, t] {
        threadIdx.x = t;
        blockDim.x = threads;
        %s(&sample, param);
    });
    for (auto& thread : block) thread.join();
    double sum = 0;
    for (auto value : out) sum += value;
    std::printf("%%g", sum);
}
"""
BLUR = """
    const int width = 41, height = 70, taps = 9;
    std::vector<unsigned char> data(width * height * 3), out(data.size());
    for (size_t i = 0; i < data.size(); ++i) data[i] = (unsigned char)(i * 37);
    std::vector<float> window(taps, 1.0f / taps);
    const float* taken = window.data();
    ConvolvePlaneSample sample = {data.data(), out.data(), taken, taken, 6, height, width, 3, taps, taps};
    ConvolvePlaneParam param = {1};
"""
SPECTRUM_OF_SOUND = """
    const int nfft = 60, count = 3;
    std::vector<float> data(100, 1.0f), out(31 * count), window(nfft, 1.0f), waves(2 * nfft, 0.5f);
    SpectrumSample sample = {data.data(), window.data(), waves.data(), out.data(), 100, count};
    SpectrumParam param = {1, nfft, 31, nfft, 20, 30, 1, 1, 0, {4, 3, 5}};
"""


def _races(tmp_path: Path, text: str, data: str, call: str) -> subprocess.CompletedProcess[str]:
    """Run the kernel's text with threads of the CPU, under ThreadSanitizer."""
    source, program = tmp_path / "races.cpp", tmp_path / "races"
    source.write_text(RACES % (text, data, call))
    options = ["-std=c++17", "-O1", "-g1", "-fsanitize=thread", "-pthread", "-ffp-contract=off", "-w"]
    made = subprocess.run(
        [host.compiler(), *options, f"-I{HERE}", str(source), "-o", str(program)], capture_output=True, text=True
    )
    if made.returncode and "tsan" in made.stderr:
        pytest.skip("the compiler has no ThreadSanitizer")
    assert made.returncode == 0, made.stderr[:2000]
    return subprocess.run([str(program)], capture_output=True, text=True, timeout=LIMIT)


@pytest.mark.parametrize(
    ("variant", "data", "call"),
    [
        (CONVOLVE_PLANE.variant("u1", False, 48), BLUR, "convolve_plane<unsigned char, false, 48>"),
        (SPECTRUM.variant(512), SPECTRUM_OF_SOUND, "spectrum<512>"),
    ],
    ids=["blur", "spectrum"],
)
def test_threads_of_a_block_wait_for_each_other(tmp_path: Path, variant: Variant, data: str, call: str) -> None:
    text = variant.host_source()
    done = _races(tmp_path, text, data, call)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer does not run on this kernel")
    assert done.returncode == 0 and "data race" not in done.stderr, done.stderr[:3000]
    alone = '#include "host.h"\n#undef __syncthreads\n#define __syncthreads() ((void)0)'
    unguarded = _races(tmp_path, text.replace('#include "host.h"', alone), data, call)
    assert "data race" in unguarded.stderr, "what does not wait is found"
