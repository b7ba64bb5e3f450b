"""Runs that nobody watches: disks that are full, caches that vanish, signals, workers that are killed, odd clocks.

`docs/how-to/unattended.md` promises what is tested here.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import fuse_disk
from tests.programs import LIMIT, run_python
from tests.unit.readers import datasets

PROGRAM = """
import hashlib, os, signal, sys
import numpy as np
import dali_lab
from dali_lab import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=7, enable_checkpointing=True)
def training():
    encoded, labels = fn.readers.file(file_root="pictures", random_shuffle=True, name="Reader")
    images = fn.resize(fn.decoders.image(encoded), size=(12, 10))
    return fn.rotate(images, angle=fn.random.uniform(range=(-9.0, 9.0)), keep_size=True), labels

def digest(outputs):
    arrays = [np.asarray(out.at(i)).tobytes() for out in outputs for i in range(len(out))]
    return hashlib.sha256(b"".join(arrays)).hexdigest()[:12]

"""
RUN = "pipe = training()\nfor _ in range(6):\n    print(digest(pipe.run()), flush=True)\n"


SMALL = """
import hashlib, pathlib, shutil
import numpy as np
import dali_lab
from dali_lab import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=1)
def small():
    return fn.transforms.scale(scale=(2.0, 3.0), center=(1.0, 5.0))

def right(pipe):
    output = pipe.run()[0]
    assert all((np.asarray(output.at(i)) == [[2, 0, -1], [0, 3, -10]]).all() for i in range(4))

pipe = small()
for _ in range(3):
    right(pipe)
"""
"""A pipeline of one kernel, which is compiled quickly."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a dataset, for programs to run in."""
    (tmp_path / "pictures").mkdir()
    datasets.file(tmp_path / "pictures", datasets.pictures(16))
    return tmp_path


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digests of six batches of a run that nothing disturbs."""
    place = tmp_path_factory.mktemp("undisturbed")
    (place / "pictures").mkdir()
    datasets.file(place / "pictures", datasets.pictures(16))
    return run_python("-c", PROGRAM + RUN, cwd=place).stdout.split()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes file systems of a few kilobytes."""
    made: list[Path] = []

    def make(kilobytes: int) -> Path:
        folder = tmp_path / f"disk{len(made)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("a file system cannot be mounted here")
        made.append(folder)
        return folder

    yield make
    for folder in made:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_below_the_cache(small_disk: Callable[[int], Path]) -> None:
    """Kernels that cannot be kept are compiled for this process; results are the same."""
    cache = small_disk(8)
    run_python("-c", SMALL, NUMBA_CACHE_DIR=str(cache), DALI_LAB_COMPILE="at-once")
    assert not list(cache.rglob("*.nbc"))


def test_a_full_disk_below_the_report_of_a_check(place: Path, small_disk: Callable[[int], Path]) -> None:
    """It is said, with status 2; once there is room, the same command succeeds."""
    text = (
        PROGRAM + "from dali_lab.formats import dumps\nopen('g.dali.json', 'wb').write(dumps(training().graph, 'json'))"
    )
    run_python("-c", text, cwd=place)
    disk = small_disk(16)
    (disk / "ballast").write_bytes(bytes(12 << 10))
    command = ("-m", "dali_lab", "check", "g.dali.json", "--report", str(disk / "report"))
    done = run_python(*command, status=2, cwd=place)
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
    (disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
    run_python(*command, cwd=place)
    assert (disk / "report" / "report.html").stat().st_size > 0


@pytest.mark.parametrize(
    "loss", ["shutil.rmtree(cache)", "[f.write_bytes(b'x') for f in cache.rglob('*') if f.is_file()]"]
)
def test_a_cache_that_is_lost_or_damaged_in_the_middle(tmp_path: Path, loss: str) -> None:
    """Kernels that are loaded stay; the next process compiles them again."""
    cache = tmp_path / "cache"
    environment = {"NUMBA_CACHE_DIR": str(cache), "DALI_LAB_COMPILE": "at-once"}
    later = f"cache = pathlib.Path({str(cache)!r})\n{loss}\nright(pipe)\nright(small())\n"
    run_python("-c", SMALL + later, **environment)
    run_python("-c", SMALL, **environment)
    assert list(cache.rglob("*.nbc"))


def test_two_processes_that_compile_at_the_same_time(tmp_path: Path) -> None:
    """Neither waits for the other for ever, and what they leave is whole."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "DALI_LAB_COMPILE": "at-once"}
    running = [subprocess.Popen([sys.executable, "-c", SMALL], env=environment) for _ in range(2)]
    try:
        assert [process.wait(timeout=LIMIT) for process in running] == [0, 0]
    finally:
        for process in running:
            process.kill()
            process.wait()
    run_python("-c", SMALL, NUMBA_CACHE_DIR=str(tmp_path / "cache"), DALI_LAB_COMPILE="at-once")


HANGING = """
import threading
os.mkfifo("stuck")
seen = []

def read(label):
    seen.append(label)
    open("stuck" if len(seen) == 5 else os.devnull, "rb").close()
    return label

@pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=1)
def waiting():
    return fn.python_function(fn.readers.file(file_root="pictures")[1], function=read)

pipe = waiting()
print(len(pipe.run()[0]), flush=True)
"""


def test_a_file_that_hangs_does_not_keep_the_process(place: Path) -> None:
    """A pipe that nobody writes to stands for a file system that has stopped: SIGTERM still ends the process."""
    text = "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()\npipe.run()"
    done = run_python("-c", PROGRAM + HANGING + text, status=-signal.SIGTERM, cwd=place)
    assert done.stdout.split() == ["4"]


def test_a_file_that_hangs_and_goes_on(place: Path) -> None:
    """A file system that comes back: the batch that waited is there."""
    text = """
import time
over = threading.Event()
def write():
    time.sleep(0.5)
    while not over.wait(0.02):
        try:
            os.close(os.open("stuck", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass  # nobody reads at this moment
writer = threading.Thread(target=write)
writer.start()
print(len(pipe.run()[0]), flush=True)
pipe.close()
over.set()
writer.join()
"""
    assert run_python("-c", PROGRAM + HANGING + text, cwd=place).stdout.split() == ["4", "4"]


STOPPED = """
asked = False
def ask(*_):
    global asked
    asked = True
signal.signal(signal.SIGTERM, ask)
saved = open("saved", "rb").read() if os.path.exists("saved") else None
pipe = training(checkpoint=saved)
done = int(sys.argv[1])
for index in range(done, 6):
    print(digest(pipe.run()), flush=True)
    if index == 2 and not done:
        os.kill(os.getpid(), signal.SIGTERM)
    if asked:
        open("saved", "wb").write(pipe.checkpoint())
        sys.exit(143)
"""


def test_a_checkpoint_at_sigterm(place: Path, expected: list[str]) -> None:
    """The handler of the program runs between two batches, and the next run goes on with the following one."""
    first = run_python("-c", PROGRAM + STOPPED, "0", status=143, cwd=place).stdout.split()
    second = run_python("-c", PROGRAM + STOPPED, "3", cwd=place).stdout.split()
    assert first + second == expected


KILLED = """
class Numbers:
    def __call__(self, info):
        if info.iteration == 2 and info.idx_in_batch == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.full(3, info.idx_in_epoch, np.int64)

if __name__ == "__main__":
    pipe = dali_lab.Pipeline(4, 2, None, py_num_workers=2, py_start_method="fork", prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(Numbers(), parallel=True, batch=False))
    pipe.build()
    taken = 0
    try:
        for _ in range(5):
            pipe.run()
            taken += 1
    except Exception as error:
        print(taken, type(error).__name__, flush=True)
        print(error, flush=True)
    pipe.close()
"""


def test_a_worker_that_the_system_kills(place: Path) -> None:
    """As where memory runs out: an error instead of a hang, and the process goes on."""
    done = run_python("-c", PROGRAM + KILLED, cwd=place)
    assert done.stdout.split()[0] in ("1", "2")
    assert "worker" in done.stdout, done.stdout


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <sys/time.h>
static long calls;
static long jump(void) { return (__sync_fetch_and_add(&calls, 1) % 7 - 3) * 86400L; }
int clock_gettime(clockid_t id, struct timespec *out) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(id, out);
    if (id == CLOCK_REALTIME) out->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *out, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec; out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""


def test_a_clock_that_jumps_by_days(place: Path, expected: list[str]) -> None:
    """Each look at the clock finds another day; nothing waits by the time of day."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("the clock is changed by a small library in C")
    (place / "clock.c").write_text(CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", place / "clock.so", place / "clock.c", "-ldl"], check=True)
    days = "import time\nassert len({int(time.time()) // 86400 for _ in range(20)}) > 3\n"
    done = run_python("-c", days + PROGRAM + RUN, cwd=place, LD_PRELOAD=str(place / "clock.so"))
    assert done.stdout.split() == expected


def test_the_signals_that_a_run_is_ended_by(place: Path) -> None:
    """SIGTERM without a handler ends a run at once, also while it reads ahead."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + "pipe = training()\nwhile True:\n    print(digest(pipe.run()), flush=True)"],
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
        assert process.returncode == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()


SLOW_FILES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Reads of pictures take a while, and wait for as long as there is a file "stopped"; "waiting" tells that one does. */
static void wait_for(int file)
{
    char link[40], path[4096];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    if (!strstr(path, "/pictures/")) return;
    usleep(2000);
    if (access("stopped", F_OK)) return;
    close(open("waiting", O_CREAT | O_WRONLY, 0600));
    while (!access("stopped", F_OK)) usleep(5000);
}

ssize_t read(int file, void *memory, size_t size)
{
    wait_for(file);
    return ((ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(file, memory, size);
}

ssize_t pread(int file, void *memory, size_t size, off_t at)
{
    wait_for(file);
    return ((ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(file, memory, size, at);
}
"""
STOPPING = """
import threading, time
pipe = training()
print(digest(pipe.run()), flush=True)
open("stopped", "w").close()
rest = []
running = threading.Thread(target=lambda: rest.extend(digest(pipe.run()) for _ in range(5)))
running.start()
while not os.path.exists("waiting"):
    time.sleep(0.01)
print("waits", flush=True)
os.remove("stopped")
running.join()
print(*rest, sep="\\n", flush=True)
"""


@pytest.fixture
def slow_files(place: Path) -> dict[str, str]:
    """The environment of a program for which reading takes long: a stand-in for a file system of the network."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and Linux")
    (place / "slow.c").write_text(SLOW_FILES)
    command = [compiler, "-shared", "-fPIC", "-o", str(place / "slow.so"), str(place / "slow.c"), "-ldl"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the C compiler makes no libraries")
    return {"LD_PRELOAD": str(place / "slow.so")}


@pytest.fixture
def fuse(place: Path) -> Iterator[dict[str, str]]:
    """The pictures behind a file system that takes long."""
    (place / "pictures").rename(place / "behind")
    (place / "pictures").mkdir()
    command = [sys.executable, fuse_disk.__file__, "behind", "pictures"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        if not server.stdout.readline():
            pytest.skip("no FUSE file system can be mounted here")
        try:
            yield {}
        finally:
            subprocess.run(["umount", "-l", str(place / "pictures")], check=True)
            server.terminate()


@pytest.mark.parametrize("disk", ["slow_files", "fuse"])
def test_a_slow_file_system_that_stops_and_comes_back(
    place: Path, expected: list[str], disk: str, request: pytest.FixtureRequest
) -> None:
    """Batches only come later: they are those of a run that nothing disturbs."""
    environment = request.getfixturevalue(disk)
    said = run_python("-c", PROGRAM + STOPPING, cwd=place, **environment).stdout.split()
    assert said == [expected[0], "waits", *expected[1:]]


def test_a_file_system_that_never_comes_back_does_not_keep_the_process(place: Path, slow_files: dict[str, str]) -> None:
    text = """
import threading, time
open("stopped", "w").close()
pipe = training()
def end():
    while not os.path.exists("waiting"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end).start()
pipe.run()
"""
    run_python("-c", PROGRAM + text, status=-signal.SIGTERM, cwd=place, **slow_files)
