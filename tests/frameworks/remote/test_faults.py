"""Stores that fail: requests are repeated while that may help, and errors name the object, the cause and the remedy."""

from __future__ import annotations

import functools
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn
from dali_lab.errors import DaliLabError, SampleError
from dali_lab.io import files
from dali_lab.io.remote import object_store, requests
from tests.programs import LIMIT, run_python
from tests.servers.faults import Proxy, proxy
from tests.servers.made_up import made_up
from tests.servers.s3 import S3
from tests.servers.web import dead_address

CONTENTS = {f"{name}/{number}.png": f"{name}{number}".encode() * 50 for name in "ab" for number in range(6)}


@pytest.fixture
def between(server: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before the S3 server, by which pipelines find it."""
    with proxy(server.address) as found, server.account(monkeypatch, found.address):
        yield found


@pytest.fixture
def root(server: S3, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A bucket with two folders of six files."""
    for name, content in CONTENTS.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_bytes(content)
    return server.upload(tmp_path / "data", f"faults-{abs(hash(request.node.name))}")


def reading(root: str, batch_size: int = 4, **settings: Any) -> dali_lab.Pipeline:
    pipe = dali_lab.Pipeline(batch_size, 2, None, **settings)
    with pipe:
        pipe.set_outputs(*fn.readers.file(file_root=root, name="Reader"))
    pipe.build()
    return pipe


def epoch(pipe: dali_lab.Pipeline, batches: int = 3) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(batches):
        encoded, _ = pipe.run()
        found += [np.array(encoded.at(i)).tobytes() for i in range(len(encoded))]
    return found


def first_times(count: int, fault: str) -> Any:
    """The fault at the first requests for each object."""
    seen: dict[str, int] = {}

    def decide(method: str, path: str) -> str | None:
        seen[path] = seen.get(path, 0) + 1
        return fault if seen[path] <= count else None

    return decide


@pytest.mark.parametrize("fault", ["503 <Error><Code>SlowDown</Code></Error>", "500", "cut", "429"])
def test_faults_that_pass_are_not_noticed(between: Proxy, root: str, fault: str) -> None:
    between.fault = first_times(2, fault)
    pipe = reading(root)
    assert epoch(pipe) == list(CONTENTS.values())
    assert len(between.requests) >= 3 * len(CONTENTS)
    pipe.close()


def test_a_server_that_never_answers_is_given_up(between: Proxy, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALI_LAB_REMOTE_TIMEOUT", "5")  # on a busy machine, answers that come take seconds, too
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "3")
    pipe = reading(root)
    between.fault = lambda method, path: "hang" if path.endswith("b/0.png") else None
    epoch(pipe, 1)
    with pytest.raises(SampleError, match=r"s3://faults-\d+/b/0\.png'.*tried 3 times"):
        epoch(pipe)
    pipe.close()


def test_many_requests_are_under_way_at_once(between: Proxy, root: str) -> None:
    pipe = reading(root, batch_size=2)
    assert epoch(pipe, 6) == list(CONTENTS.values())
    between.most, between.together = 0, 8  # from now on none is answered before as many wait
    assert epoch(pipe, 18) == list(CONTENTS.values()) * 3
    pipe.close()


def test_a_first_batch_requests_no_more_than_itself(between: Proxy, root: str) -> None:
    pipe = reading(root, batch_size=2, prefetch_queue_depth=1)
    before = len(between.requests)
    epoch(pipe, 1)
    assert len(between.requests) - before <= 4
    pipe.close()


def test_an_object_that_vanished_is_an_error_of_its_sample(between: Proxy, root: str, server: S3) -> None:
    bucket = root.removeprefix("s3://")
    pipe, going_on = reading(root), reading(root, on_error="replace", max_error_rate=1.0)
    server.client.delete_object(Bucket=bucket, Key="a/2.png")
    with pytest.raises(SampleError, match=rf"{root}/a/2\.png': it does not exist") as caught:
        epoch(pipe)
    assert caught.value.sample == 2
    expected = list(CONTENTS.values())
    found = epoch(going_on)
    assert found[:2] + found[3:] == expected[:2] + expected[3:]
    assert found[2] in expected
    assert len(going_on.bad_samples) == 1
    for each in (pipe, going_on):
        each.close()


def test_credentials_that_expire_say_so(between: Proxy, root: str) -> None:
    pipe = reading(root)
    assert epoch(pipe) == list(CONTENTS.values())
    between.fault = lambda method, path: "400 <Error><Code>ExpiredToken</Code><Message>It expired.</Message></Error>"
    with pytest.raises(SampleError, match=r"the credentials for s3://.* have expired; sign in again"):
        epoch(pipe, 40)
    pipe.close()


def test_a_bucket_without_rights(between: Proxy, root: str) -> None:
    between.fault = lambda method, path: "403 <Error><Code>AccessDenied</Code></Error>"
    with pytest.raises(DaliLabError, match=rf"cannot list the folder '{root}'.*AccessDenied.*no right to read it"):
        reading(root)
    listed = [path for _, path in between.requests if "list-type" in path]
    assert len(listed) == 1, "another attempt would not help"


DENIALS = {
    "403 <Error><Code>RequestTimeTooSkewed</Code></Error>": "the clock of this machine is wrong",
    "403 <Error><Code>InvalidAccessKeyId</Code></Error>": r"does not know the credentials .*sign in",
    "301 <Error><Code>PermanentRedirect</Code></Error>": "in another region: AWS_REGION",
}


@pytest.mark.parametrize("fault", DENIALS)
def test_denials_name_their_cause(between: Proxy, root: str, fault: str) -> None:
    between.fault = lambda method, path: fault
    with pytest.raises(OSError, match=DENIALS[fault]):
        files.read_file(f"{root}/a/2.png")


def test_a_redirect_of_a_web_server_to_nowhere_does_not_speak_of_regions(server: S3) -> None:
    with proxy(server.address) as between:
        between.fault = lambda method, path: "307"
        with pytest.raises(OSError, match="redirect that names no place"):
            files.read_file(f"{between.address}/a.png")


def test_keys_that_a_library_takes_for_others_are_refused(s3: S3, root: str) -> None:
    with pytest.raises(OSError, match="names a bucket, and no object"):
        files.read_file(root)
    with pytest.raises(OSError, match="ends with a slash, so it names a folder"):
        files.read_file(f"{root}/a/0.png/")
    for read in (files.read_file, files.list_folder):
        with pytest.raises(OSError, match="between two slashes of it is empty"):
            read(f"{root}//a")


def test_signed_urls_and_others_of_one_server(tmp_path: Path) -> None:
    """The address of a signed URL has another store, whose keys are whole URLs."""
    first, _ = requests.store_of("http://127.0.0.1:9/a.png")
    signed, key = requests.store_of("http://127.0.0.1:9/a.png?sig=x")
    assert type(first) is not type(signed)
    assert key == "http://127.0.0.1:9/a.png?sig=x"


def test_a_bucket_or_a_folder_that_does_not_exist(between: Proxy, root: str) -> None:
    with pytest.raises(DaliLabError, match="there is no bucket 'no-such-bucket'"):
        reading("s3://no-such-bucket/train")
    with pytest.raises(DaliLabError, match="it does not exist, or nothing is in it"):
        reading(f"{root}/train")


def test_a_container_of_azure_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "<Error><Code>ContainerNotFound</Code><Message>It does not exist.\nRequestId:7</Message></Error>"
    with made_up(0, b"") as azure:
        azure.refusals["comp=list"] = (404, said)
        account = {"ACCOUNT_NAME": "me", "ACCOUNT_KEY": "bm90IGEga2V5", "ENDPOINT": f"{azure.address}/me"}
        for name, value in account.items():
            monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
        with pytest.raises(DaliLabError, match="'az://none-such/train': there is no container 'none-such'"):
            reading("az://none-such/train")


def test_a_dead_address(monkeypatch: pytest.MonkeyPatch, server: S3) -> None:
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "3")
    error = pytest.raises(DaliLabError, match=r"'s3://bucket-of-nobody'.*[Cc]onnect.*tried 3 times")
    with dead_address() as address, server.account(monkeypatch, address), error:
        reading("s3://bucket-of-nobody")


def test_an_archive_that_changes_is_an_error(between: Proxy, server: S3) -> None:
    def archive(fill: bytes) -> bytes:
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            for number in range(40):
                entry = tarfile.TarInfo(f"{number:02}.bin")
                entry.size = 20_000
                tar.addfile(entry, io.BytesIO(fill * 20_000))
        return content.getvalue()

    server.client.create_bucket(Bucket="changing")
    server.client.put_object(Bucket="changing", Key="a.tar", Body=archive(b"x"))
    pipe = dali_lab.Pipeline(4, 1, None, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.readers.webdataset(paths="s3://changing/a.tar", ext="bin"))
    pipe.run()
    server.client.put_object(Bucket="changing", Key="a.tar", Body=archive(b"y"))
    with pytest.raises(SampleError, match="was replaced or changed after the reader had opened it"):
        all(pipe.run() for _ in range(300))
    pipe.close()


def test_a_certificate_that_is_refused_is_named() -> None:
    """The text is that of obstore for a server with a certificate of its own."""
    said = "Generic HTTP error: error sending request\n\nDebug source: InvalidCertificate(\n    UnknownIssuer,\n)"
    error = object_store.ObjectStore("https", "data.example", 9.0)._explained(RuntimeError(said))
    assert "the certificate of https://data.example is refused (UnknownIssuer): SSL_CERT_FILE" in str(error)


def test_a_web_server_without_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of Python's library: small files are read whole, and parts of large ones are refused with the reason."""
    (tmp_path / "file").write_bytes(bytes(range(256)) * 100)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *arguments: None)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}/file"
        with files.open_file(url) as file:
            file.seek(300)
            assert file.read(20) == bytes(range(44, 64))
        monkeypatch.setattr(object_store, "_WHOLE", 1000)
        with pytest.raises(OSError, match=r"answers no requests for ranges.* of 25,600 bytes"):
            files.open_file(url).read(20)
        web.shutdown()


def test_a_web_server_that_sends_a_part_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is never taken for the whole file, and an empty file is one."""
    whole = bytes(range(200))

    class Parts(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = b"" if "empty" in self.path else whole[:100] if "part" in self.path else whole
            self.send_response(416 if "empty" in self.path and "Range" in self.headers else 206 if content else 200)
            if content:
                self.send_header("Content-Range", f"bytes 0-{len(content) - 1}/200")
            self.send_header("Last-Modified", "Mon, 02 Nov 2026 10:00:00 GMT")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Parts) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{web.server_port}"
        assert files.read_file(f"{place}/whole") == whole
        assert files.read_file(f"{place}/empty") == b""
        with pytest.raises(OSError, match="100"):
            files.read_file(f"{place}/part")
        web.shutdown()


def test_a_missing_package_says_what_to_install() -> None:
    program = """
import sys
sys.modules["obstore"] = sys.modules["fsspec"] = None
import dali_lab
from dali_lab import fn
for root in ("s3://bucket/train", "memory://train"):
    pipe = dali_lab.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(*fn.readers.file(file_root=root))
    try:
        pipe.build()
    except dali_lab.errors.DaliLabError as error:
        print(error)
"""
    said = run_python("-c", program).stdout
    assert said.count("pip install 'dali-lab[remote]'") == 2


SECRETS = [
    "https://person:pass-word@127.0.0.1:9/a.png",
    "http://127.0.0.1:9/a.png?X-Amz-Signature=5ecret&X-Amz-Expires=9",
    "https://127.0.0.1:9/a.png?sv=2&sig=5ecret",
    "s3://key:5ecret@bucket/a.png",
]


@pytest.mark.parametrize("url", SECRETS)
def test_errors_do_not_show_secrets(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setenv("DALI_LAB_REMOTE_ATTEMPTS", "1")
    pipe = dali_lab.Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(*fn.readers.file(files=[url]))
    pipe.build()
    with pytest.raises(DaliLabError) as caught:
        pipe.run()
    cause: BaseException | None = caught.value
    while cause is not None:
        assert "5ecret" not in str(cause)
        assert "pass-word" not in str(cause)
        cause = cause.__cause__ or cause.__context__
    assert "127.0.0.1" in str(caught.value) or "bucket" in str(caught.value)
    pipe.close()


@pytest.mark.parametrize("depth", [1, 3])
def test_closing_does_not_wait_for_a_server_that_hangs(
    between: Proxy, root: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends with one error, whether it was waiting for a batch or still beginning another one."""
    monkeypatch.setenv("DALI_LAB_REMOTE_TIMEOUT", "900")
    pipe = reading(root, prefetch_queue_depth=depth)
    requested = threading.Event()

    def hang(method: str, path: str) -> str:
        requested.set()
        return "hang"

    between.fault = hang
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(pipe.run)
        assert requested.wait(LIMIT)
        pipe.close()
        with pytest.raises(RuntimeError, match="the pipeline is closed"):
            running.result(LIMIT)


FORKED = """
import os, sys
from dali_lab.io import files
from dali_lab.io.remote import parts, requests

print(files.read_file("s3://faults-of-forks/a"), flush=True)
read = parts.FileParts(["s3://faults-of-forks/a"])
if "held" in sys.argv:  # as other threads may hold them at that moment
    for lock in (requests._opening, parts._finishing, read._lock):
        lock.acquire()
if child := os.fork():
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)
try:
    files.read_file("s3://faults-of-forks/a")
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("locks", ["free", "held"])
def test_a_forked_process_says_how_to_start_it(s3: S3, locks: str) -> None:
    """Connections do not live on there: it would wait for ever."""
    s3.client.create_bucket(Bucket="faults-of-forks")
    s3.client.put_object(Bucket="faults-of-forks", Key="a", Body=b"content")
    said = run_python("-c", FORKED, locks).stdout
    assert "b'content'" in said
    assert "ended with 0" in said
    assert "start worker processes by 'spawn' or 'forkserver'" in said


INTERRUPTED = """
import os, signal, socket, sys, threading
import dali_lab
from dali_lab import fn

# A shell starts programs in the background with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
server = socket.create_server(("127.0.0.1", 0))
os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.getsockname()[1]}"

def interrupt():
    server.accept()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
pipe = dali_lab.Pipeline(2, 2, None)
with pipe:
    if sys.argv[1] == "listing":
        pipe.set_outputs(*fn.readers.file(file_root="s3://bucket/train"))
    else:
        pipe.set_outputs(*fn.readers.file(files=["s3://bucket/a", "s3://bucket/b"]))
pipe.build()
pipe.run()
"""


@pytest.mark.parametrize("doing", ["listing", "reading"])
def test_ctrl_c_ends_a_program_that_waits_for_a_server(server: S3, doing: str) -> None:
    from tests.servers.s3 import ACCOUNT

    done = run_python("-c", INTERRUPTED, doing, status=None, DALI_LAB_REMOTE_TIMEOUT="900", **ACCOUNT)
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
