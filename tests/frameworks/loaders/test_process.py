"""A user's process is left as it was: its settings, its heap, its threads and files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = r"""
import ctypes, decimal, gc, json, locale, logging, multiprocessing, os, resource, signal, sys, threading, warnings
import cv2, numpy as np, torch

def modes_of_floats():
    # Rounding, exceptions, and what becomes of numbers next to zero, in NumPy and in the C library.
    fenv = (ctypes.c_ubyte * 64)()
    ctypes.CDLL("libm.so.6").fegetenv(fenv)
    tiny = np.float32(1e-40) * np.ones(64, np.float32)
    control = int.from_bytes(bytes(fenv)[28:32], "little") & 0xFFC0  # without what has happened so far
    return bytes(fenv)[:2].hex(), control, (tiny * np.float32(0.5)).view(np.uint32).tolist(), np.geterr()

def settings():
    return {
        "environment": dict(os.environ),
        "signals": {int(number): str(signal.getsignal(number)) for number in signal.valid_signals()},
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "opencv": (cv2.getNumThreads(), cv2.utils.logging.getLogLevel(), cv2.useOptimized(), cv2.ocl.useOpenCL()),
        "torch": (torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype().__str__()),
        "threads of NumPy": blas.scipy_openblas_get_num_threads64_() if blas else None,
        "floats": modes_of_floats(),
        "warnings": [str(found) for found in warnings.filters],
        "warnings are shown by": str(warnings.showwarning),
        "logging": (logging.root.level, str(logging.root.handlers), logging.getLogger("dali_lab").level),
        "locale": locale.setlocale(locale.LC_ALL),
        "folder": os.getcwd(),
        "umask": next(line for line in open("/proc/self/status") if line.startswith("Umask")),
        "limits": {name: resource.getrlimit(value) for name, value in vars(resource).items() if name[:7] == "RLIMIT_"},
        "priority": (os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0))),
        "hooks": [str(hook) for hook in (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook)],
        "finders": ([str(found) for found in sys.meta_path], len(sys.path_hooks), sys.path),
        "start of processes": multiprocessing.get_start_method(allow_none=True),
        "interpreter": (sys.getswitchinterval(), sys.getrecursionlimit(), gc.isenabled(), gc.get_threshold(),
                        gc.get_freeze_count(), sys.gettrace() is None, sys.getprofile() is None),
        "random": (random.getstate()[1][:5], np.random.get_state()[1][:5].tolist(), torch.initial_seed()),
        "print": (str(np.get_printoptions()), decimal.getcontext().prec),
    }

def threads():
    return len(os.listdir("/proc/self/task"))

def files():
    return sorted(os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
                  if os.path.exists(f"/proc/self/fd/{name}"))

import random
blas = next((ctypes.CDLL(line.split()[-1]) for line in open("/proc/self/maps") if "libscipy_openblas64" in line), None)
random.seed(1), np.random.seed(1), torch.manual_seed(1)
np.ones((300, 300)) @ np.ones((300, 300))
torch.ones(2000, 2000).sum()
multiprocessing.Pipe()
before = settings(), threads(), files()

import dali_lab
from dali_lab import fn
from dali_lab.plugin.pytorch import DALIGenericIterator
imported = settings()

def run(batches=3, **options):
    pipeline = dali_lab.Pipeline(4, 2, options.pop("device", None), seed=7, **options)
    with pipeline:
        encoded, labels = fn.readers.file(file_root=sys.argv[1], name="Reader")
        decoded = fn.decoders.image(encoded, device="mixed" if "gpu" in options else "cpu")
        images = fn.resize(decoded, size=300)
        sounds = fn.spectrogram(fn.random.uniform(range=(-1.0, 1.0), shape=[30000]), nfft=1024)
        parallel = "py_num_workers" in options
        made = fn.external_source(source=example, batch=False, parallel=parallel, layout="HWC")
        pipeline.set_outputs(images, fn.rotate(made, angle=20.0), sounds, labels)
    if batches:
        for _ in range(batches):
            kept.append([part.as_cpu() for part in pipeline.run()])
        pipeline.close()
    return pipeline

def example(sample):
    return np.full((200, 300, 3), sample.idx_in_batch, np.uint8)

def run_damaged():
    whole = np.fromfile(sys.argv[1] + "/some/0.jpg", np.uint8)
    pipeline = dali_lab.Pipeline(1, 1, None, prefetch_queue_depth=1)
    with pipeline:
        pipeline.set_outputs(fn.decoders.image(fn.external_source(source=lambda: [whole[: len(whole) // 2]])))
    try:
        pipeline.run()
    except RuntimeError:
        pipeline.close()
        return
    raise AssertionError("half of a picture was decoded")

kept = []
for _ in range(20):
    run_damaged()
run()
run(py_num_workers=2)
run(device=0, gpu="emulated")
for batch in DALIGenericIterator(run(batches=0), ["images", "made", "sounds", "labels"], reader_name="Reader"):
    kept.append(batch)
del batch
gc.collect()
# The process that compiles is not waited for otherwise.
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
after = settings(), threads(), files()
print(json.dumps([[before[0], imported, after[0]], [before[1], after[1]], [before[2], after[2]]]))
"""
_SHIM = r"""
#include <unistd.h>
#define TELL(name) (void)!write(2, "called: " name "\n", sizeof("called: " name))
int mallopt(int what, int value) { TELL("mallopt"); return 1; }
int malloc_trim(unsigned long pad) { TELL("malloc_trim"); return 1; }
"""


def _program(tmp_path: Path) -> list[str]:
    from dali_lab.codecs.encoding import encode_jpeg
    from dali_lab.schema.samples import picture

    root = tmp_path / "pictures" / "some"
    root.mkdir(parents=True)
    for index in range(4):
        (root / f"{index}.jpg").write_bytes(encode_jpeg(picture(400 + index, 500)))
    return [sys.executable, "-c", _PROGRAM, str(root.parent)]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_process_keeps_its_settings(tmp_path: Path) -> None:
    done = subprocess.run(_program(tmp_path), capture_output=True, text=True, check=True, timeout=300)
    (before, imported, after), threads, files = json.loads(done.stdout)
    for name in before:
        assert imported[name] == before[name], f"{name} after the import"
        assert after[name] == before[name], f"{name} after pipelines have run"
    assert threads[1] <= threads[0]  # at a fork, OpenBLAS ends its own until it is used again
    # The file by which processes take turns at compiling stays open: closing it would release the locks of all threads.
    assert [file for file in files[1] if not file.endswith("/lock")] == files[0]


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="a C compiler watches the calls")
def test_the_heap_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shim.c").write_text(_SHIM)
    shim = tmp_path / "shim.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c"], check=True, capture_output=True)
    command = ["env", f"LD_PRELOAD={shim}", *_program(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert "called:" not in done.stderr
