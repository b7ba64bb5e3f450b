"""A bad sample is replaced or left out: batches are those of a run that had the replacements from the start."""

from __future__ import annotations

import functools
import shutil
import wave
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab.experimental.dynamic as ndd
from dali_lab import Pipeline, fn, formats, pipeline_def
from dali_lab.cli.entry import main
from dali_lab.executor.bad_samples import TooManyBadSamples
from dali_lab.executor.chunks import ChunkRunner
from dali_lab.formats.registry import FORMATS
from dali_lab.model.errors import DaliLabError

SIZE, BATCHES = 6, 3
TOTAL = SIZE * BATCHES
Rows = list[list[np.ndarray]]


def write_picture(path: Path, index: int) -> None:
    import cv2

    noise = np.random.default_rng(index).integers(0, 255, (9, 12, 3), np.uint8)
    cv2.imwrite(str(path), cv2.resize(noise, (60 + index, 48)))


def write_sound(path: Path, index: int) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes((np.arange(400 + index) * 7 % 3000).astype("<i2").tobytes())


def write_array(path: Path, index: int) -> None:
    np.save(path, np.full((4, 3), index, np.float32))


WRITERS = {".jpg": write_picture, ".wav": write_sound, ".npy": write_array}


def no_header(path: str) -> None:
    Path(path).write_bytes(b"nothing that is known")


def cut_short(path: str) -> None:
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])


def gone(path: str) -> None:
    Path(path).unlink()


def other_type(path: str) -> None:
    np.save(path, np.ones((4, 3), np.float64))


def other_rank(path: str) -> None:
    np.save(path, np.ones((4, 3, 2), np.float32))


def trained(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Labels, numbers of another reader and random numbers beside augmented pictures."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers), name="first")
    _, others = fn.readers.file(files=[__file__] * len(numbers), labels=[7 * n for n in numbers], name="second")
    images = fn.decoders.image_random_crop(encoded)
    images = fn.resize(images, size=(24, 32))
    images = fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip())
    return images, labels, others, fn.random.uniform(range=(0.0, 1.0)), labels * 2


def turned(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Pictures that are decoded by a step of their own, and turned."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.decoders.image(encoded)
    images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True)
    return fn.pad(images), labels


def mixed(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Operators that see the whole batch behind the decoder."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.resize(fn.decoders.image(encoded), size=(16, 16))
    order = fn.batch_permutation()
    return images, fn.permute_batch(images, indices=order), fn.permute_batch(labels, indices=order)


def decoded_late(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Decoding behind an operator that sees the whole batch."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.resize(fn.decoders.image(fn.pad(encoded, fill_value=0)), size=(16, 16))
    return images, labels


def in_branches(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Decoding in the branches of a condition on random numbers."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    if fn.random.coin_flip():
        images = fn.resize(fn.decoders.image(encoded), size=(16, 16))
    else:
        images = fn.flip(fn.resize(fn.decoders.image(encoded), size=(16, 16)))
    return images, labels


def behind_condition(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """A condition on what was decoded."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.resize(fn.decoders.image(encoded), size=(16, 16))
    if fn.reductions.mean(images) > 127:
        images = fn.brightness(images, brightness=fn.random.uniform(range=(0.5, 1.0)))
    else:
        images = fn.flip(images)
    return images, labels


def on_device(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """Stages on a device behind the decoder."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.decoders.image(encoded, device="mixed")
    images = fn.crop_mirror_normalize(fn.resize(images, size=(16, 16)), mirror=fn.random.coin_flip())
    return images, labels


def heard(files: Sequence[str], numbers: Sequence[int]) -> Any:
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    sound, rate = fn.decoders.audio(encoded)
    return fn.preemphasis_filter(sound, preemph_coeff=fn.random.uniform(range=(0.5, 0.9))), rate, labels


def arrays(files: Sequence[str], numbers: Sequence[int]) -> Any:
    data = fn.readers.numpy(files=list(files))
    _, labels = fn.readers.file(files=[__file__] * len(numbers), labels=list(numbers))
    return data * 2, labels, fn.random.normal(data)


def by_python(files: Sequence[str], numbers: Sequence[int]) -> Any:
    """A Python function that refuses what the decoder took."""
    encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
    images = fn.python_function(encoded, function=refuse_short)
    return images, labels, fn.random.uniform(range=(0.0, 1.0))


def refuse_short(data: np.ndarray) -> np.ndarray:
    if len(data) < 30:
        raise ValueError("too short")
    return data[:20].copy()


@dataclass(frozen=True)
class Case:
    """A graph, the files that it reads, and how one of them is damaged."""

    graph: Callable[[Sequence[str], Sequence[int]], Any]
    ending: str
    damage: Callable[[str], None]
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.graph.__name__}-{self.damage.__name__}"


CONDITIONAL = (("enable_conditionals", True),)
EMULATED = (("gpu", "emulated"), ("device_id", 0))
CASES = [
    Case(trained, ".jpg", no_header),
    Case(trained, ".jpg", cut_short),
    Case(trained, ".jpg", gone),
    Case(turned, ".jpg", no_header),
    Case(turned, ".jpg", cut_short),
    Case(mixed, ".jpg", cut_short),
    Case(mixed, ".jpg", gone),
    Case(decoded_late, ".jpg", no_header),
    Case(in_branches, ".jpg", cut_short, CONDITIONAL),
    Case(behind_condition, ".jpg", cut_short, CONDITIONAL),
    Case(on_device, ".jpg", cut_short, EMULATED),
    Case(on_device, ".jpg", no_header, EMULATED),
    Case(heard, ".wav", no_header),
    Case(heard, ".wav", gone),
    Case(arrays, ".npy", cut_short),
    Case(arrays, ".npy", other_type),
    Case(arrays, ".npy", other_rank),
    Case(by_python, ".jpg", no_header),
]
BAD = (1, 7, 8, TOTAL - 1)  # alone, two neighbours, and the last sample of all


@functools.cache
def good_files(ending: str, folder: Path) -> list[str]:
    """Readable files of a kind, named by their index."""
    paths = [folder / f"good{ending}" / f"{index:02}{ending}" for index in range(TOTAL)]
    paths[0].parent.mkdir()
    for index, path in enumerate(paths):
        WRITERS[ending](path, index)
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad_samples")


def damaged(case: Case, folder: Path, bad: Sequence[int] = BAD) -> tuple[list[str], list[str]]:
    """The files of a case, good and with some of them damaged."""
    good = good_files(case.ending, folder)
    copies = folder / f"{case.name}-{'-'.join(map(str, bad))}"
    if not copies.exists():
        copies.mkdir()
        for path in good:
            shutil.copy(path, copies)
        for index in bad:
            case.damage(str(copies / Path(good[index]).name))
    return good, [str(copies / Path(path).name) for path in good]


def built(case: Case, files: Sequence[str], numbers: Sequence[int], **settings: Any) -> Pipeline:
    how = {"batch_size": SIZE, "num_threads": 2, "device_id": None, "seed": 11, **dict(case.settings), **settings}
    pipeline: Pipeline = pipeline_def(case.graph, **how)(files, numbers)
    return pipeline


def run(pipeline: Pipeline, batches: int) -> Rows:
    result = []
    for _ in range(batches):
        outputs = [output.as_cpu() for output in pipeline.run()]
        result.append([np.asarray(output.at(i)).copy() for output in outputs for i in range(len(output))])
    return result


def donors(bad: Sequence[int], size: int = SIZE) -> list[int]:
    """For each sample the one whose data it has: the next good one of its batch, in turn."""
    result = []
    for index in range(TOTAL):
        first = index // size * size
        turn = [first + (index - first + step) % size for step in range(size)]
        result.append(next(other for other in turn if other not in bad))
    return result


def expected(case: Case, folder: Path, *, left_out: Sequence[int] = ()) -> Rows:
    """Batches of a plain run on good files, with those of the replacements in the places of the bad ones."""
    good = good_files(case.ending, folder)
    order = donors(BAD)
    with_replacements = built(case, [good[i] for i in order], order)
    rows = run(with_replacements, BATCHES)
    with_replacements.close()
    for number, batch in enumerate(rows):
        kept = [i for i in range(SIZE) if number * SIZE + i not in left_out]
        batch[:] = [row for output in range(len(batch) // SIZE) for row in (batch[output * SIZE + i] for i in kept)]
    return rows


def assert_same(found: Rows, wanted: Rows) -> None:
    assert [len(batch) for batch in found] == [len(batch) for batch in wanted]
    for batch, other in zip(found, wanted, strict=True):
        for row, same in zip(batch, other, strict=True):
            assert row.dtype == same.dtype and np.array_equal(row, same)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_replacement_gives_the_batch_of_a_run_that_had_it_from_the_start(
    case: Case, threads: int, folder: Path
) -> None:
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL), num_threads=threads, on_error="replace")
    assert_same(run(pipeline, BATCHES), expected(case, folder))
    assert [record.iteration * SIZE + record.sample for record in pipeline.bad_samples] == list(BAD)
    for record in pipeline.bad_samples:
        index = record.iteration * SIZE + record.sample
        assert record.replacement_iteration == record.iteration
        assert record.replacement == donors(BAD)[index] % SIZE
        assert record.file is None or Path(record.file).stem == f"{index:02}"
    pipeline.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_skipped_sample_is_missing_in_all_outputs(case: Case, folder: Path) -> None:
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL), on_error="skip")
    assert_same(run(pipeline, BATCHES), expected(case, folder, left_out=BAD))
    assert all(record.replacement is None for record in pipeline.bad_samples)
    pipeline.close()


@pytest.mark.parametrize("policy", ["replace", "skip"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_restored_run_gives_the_same_batches_and_the_same_list(case: Case, policy: str, folder: Path) -> None:
    _, files = damaged(case, folder)
    how = {"on_error": policy, "enable_checkpointing": True}
    whole = built(case, files, range(TOTAL), **how)
    rows = run(whole, 2)
    checkpoint = whole.checkpoint()
    rows += run(whole, 2)
    restored = built(case, files, range(TOTAL), checkpoint=checkpoint, num_threads=1, **how)
    assert_same(run(restored, 2), rows[2:])
    assert restored.bad_samples == whole.bad_samples and len(whole.bad_samples) > len(BAD)
    whole.close()
    restored.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_a_policy_the_batch_fails_and_the_next_one_comes(case: Case, folder: Path) -> None:
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL))
    with pytest.raises(DaliLabError):
        pipeline.run()
    assert pipeline.bad_samples == []
    pipeline.close()


PLAIN = Case(trained, ".jpg", cut_short)


@pytest.mark.parametrize("graph", [trained, turned])
@pytest.mark.parametrize("seed", range(4))
def test_samples_that_are_bad_in_many_ways_have_the_next_good_one_in_their_place(
    graph: Callable[[Sequence[str], Sequence[int]], Any], seed: int, folder: Path, tmp_path: Path
) -> None:
    case = Case(graph, ".jpg", gone)
    good = good_files(".jpg", folder)
    files = [shutil.copy(path, tmp_path) for path in good]
    rng = np.random.default_rng(seed)
    bad = sorted(rng.permutation(TOTAL)[:5].tolist())
    for index in bad:  # a replacement is found early or late, and may turn out to be bad later than its place
        (no_header, cut_short, gone)[rng.integers(3)](files[index])
    order = donors(bad, TOTAL)
    wanted = run(built(case, [good[i] for i in order], order, batch_size=TOTAL), 1)
    for threads in (1, 2, 6):
        pipeline = built(
            case, files, range(TOTAL), batch_size=TOTAL, num_threads=threads, on_error="replace", max_error_rate=1
        )
        assert_same(run(pipeline, 1), wanted)
        assert [(record.sample, record.replacement) for record in pipeline.bad_samples] == [(i, order[i]) for i in bad]
        assert [Path(record.replacement_file or "").stem for record in pipeline.bad_samples] == [
            f"{order[i]:02}" for i in bad
        ]
        pipeline.close()


@pytest.mark.parametrize("graph", [trained, turned])
def test_a_picture_that_is_cut_short_makes_no_step_run_again(
    graph: Callable[[Sequence[str], Sequence[int]], Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next picture of its chunk is decoded in its place, by the draws of the place."""
    case = Case(graph, ".jpg", cut_short)
    good, files = damaged(case, folder, [1])
    wanted = run(built(case, [good[i] for i in donors([1], TOTAL)], donors([1], TOTAL), batch_size=TOTAL), 1)
    ran: list[int] = []
    monkeypatch.setattr(ChunkRunner, "run_row", lambda self, stage_run, row: ran.append(row))
    pipeline = built(case, files, range(TOTAL), batch_size=TOTAL, on_error="replace", max_error_rate=1)
    assert_same(run(pipeline, 1), wanted)
    assert len(pipeline.bad_samples) == 1
    assert not ran
    pipeline.close()


def test_single_samples_get_the_last_good_one_of_an_earlier_batch(folder: Path) -> None:
    good, files = damaged(PLAIN, folder)
    pipeline = built(PLAIN, files, range(TOTAL), batch_size=1, on_error="replace", max_error_rate=1)
    order = [max(other for other in range(index + 1) if other not in BAD) for index in range(TOTAL)]
    wanted = built(PLAIN, [good[i] for i in order], order, batch_size=1)
    assert_same(run(pipeline, TOTAL), run(wanted, TOTAL))
    assert [record.replacement_iteration for record in pipeline.bad_samples] == [0, 6, 6, TOTAL - 2]
    assert [Path(record.replacement_file or "").stem for record in pipeline.bad_samples] == ["00", "06", "06", "16"]


def test_a_checkpoint_brings_the_last_good_sample_along(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    how = {"batch_size": 1, "on_error": "replace", "enable_checkpointing": True}
    whole = built(PLAIN, files, range(TOTAL), **how)
    run(whole, 8)  # the next one is bad, and so was the last
    restored = built(PLAIN, files, range(TOTAL), checkpoint=whole.checkpoint(), **how)
    assert_same(run(restored, 4), run(whole, 4))
    assert restored.bad_samples == whole.bad_samples


def test_a_replacement_names_the_file_of_the_reader_that_failed(folder: Path) -> None:
    """Two readers feed one node; damage behind either of them."""
    _, files = damaged(PLAIN, folder)
    good = good_files(".jpg", folder)

    def both() -> Any:
        first, second = (fn.readers.file(files=list(each))[0] for each in (good, files))
        pictures = [fn.resize(fn.decoders.image(each), size=(8, 8)) for each in (first, second)]
        return fn.cat(*pictures)

    pipeline = pipeline_def(both)(batch_size=SIZE, num_threads=2, device_id=None, on_error="replace", max_error_rate=1)
    run(pipeline, TOTAL // SIZE)
    assert len(pipeline.bad_samples) >= 2
    for record in pipeline.bad_samples:
        named = {Path(path or "").parent for path in (record.file, record.replacement_file)}
        assert named == {Path(files[0]).parent}
    pipeline.close()


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_a_first_batch_without_a_good_sample_is_an_error(policy: str, folder: Path) -> None:
    _, files = damaged(PLAIN, folder, range(SIZE))
    pipeline = built(PLAIN, files, range(TOTAL), on_error=policy)
    with pytest.raises(DaliLabError, match="sample 0: cannot decode the picture"):
        pipeline.run()
    assert len(run(pipeline, 1)[0]) == 5 * SIZE  # and the next one comes


def test_a_batch_of_bad_samples_is_filled_with_one_of_an_earlier_batch_or_empty(folder: Path) -> None:
    good, files = damaged(PLAIN, folder, range(SIZE, 2 * SIZE))
    order = [index if index < SIZE or index >= 2 * SIZE else SIZE - 1 for index in range(TOTAL)]
    wanted = run(built(PLAIN, [good[i] for i in order], order), BATCHES)
    assert_same(run(built(PLAIN, files, range(TOTAL), on_error="replace"), BATCHES), wanted)
    skipping = built(PLAIN, files, range(TOTAL), on_error="skip")
    assert_same(run(skipping, BATCHES), [wanted[0], [], wanted[2]])


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_a_function_that_raises_for_all_samples_ends_the_run_at_once(policy: str, folder: Path) -> None:
    def fails(data: np.ndarray) -> np.ndarray:
        raise TypeError("no such thing")

    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
        return fn.python_function(encoded, function=fails), labels

    files = good_files(".jpg", folder)
    pipeline = built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error=policy)
    with pytest.raises(DaliLabError, match="no such thing"):
        pipeline.run()


def test_a_wrong_argument_ends_the_run_at_once_also_after_good_batches(folder: Path) -> None:
    calls = []

    def once(data: np.ndarray) -> np.ndarray:
        calls.append(len(data))
        if len(calls) > SIZE:
            raise ValueError("from now on")
        return data

    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers))
        return fn.python_function(encoded, function=once), labels

    files = good_files(".jpg", folder)
    pipeline = built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error="replace")
    run(pipeline, 1)
    with pytest.raises(DaliLabError, match="from now on"):
        pipeline.run()


def test_too_large_a_share_of_bad_samples_ends_the_run_naming_the_first(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    pipeline = built(PLAIN, files, range(TOTAL), on_error="replace", max_error_rate=0.002)
    run(pipeline, 1)
    with pytest.raises(TooManyBadSamples, match=r"3 of the last 12 samples.*\n.*truncated(.|\n)*01\.jpg(.|\n)*07\.jpg"):
        pipeline.run()


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"on_error": "ignore"}, "'raise', 'skip', 'replace'"), ({"max_error_rate": 2}, r"\[0, 1\]")],
)
def test_a_wrong_policy_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Pipeline(1, 1, None, **settings)


@pytest.mark.parametrize("form", ["json", "dali-serialized", "python"])
def test_the_policy_travels_with_the_graph(form: str) -> None:
    pipeline = Pipeline(2, 1, None, on_error="replace", max_error_rate=0.25)
    with pipeline:
        pipeline.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    again = Pipeline.from_graph(formats.loads(formats.dumps(pipeline.graph, form)))
    assert (again.on_error, again.max_error_rate) == ("replace", 0.25)
    silent = Pipeline(2, 1, None)
    with silent:
        silent.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    assert "on_error" not in silent.graph.pipeline


@pytest.mark.parametrize("form", ["nvidia-python", "dali-serialized"])
def test_exports_to_nvidia_dali_say_that_the_policy_is_lost(form: str) -> None:
    pipeline = Pipeline(2, 1, None, on_error="skip")
    with pipeline:
        pipeline.set_outputs(fn.random.uniform(range=(0.0, 1.0)))
    assert any("ends at the first bad sample" in sentence for sentence in FORMATS[form].lost(pipeline.graph))


def test_the_command_line_lists_bad_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, files = damaged(PLAIN, folder)
    path = folder / "graph.dali.json"
    formats.dump(built(PLAIN, files, range(TOTAL)).graph, path)
    assert main(["run", str(path), "--batches", "1", "--on-error", "replace"]) == 0
    said = capsys.readouterr().out
    assert "bad sample" in said and "truncated" in said and "01.jpg" in said


class Numbers:
    """Samples that raise for some indices, and are of another type for others."""

    def __init__(self, bad: Sequence[int], odd: Sequence[int] = ()) -> None:
        self.bad, self.odd = set(bad), set(odd)

    def __call__(self, info: Any) -> tuple[np.ndarray, np.ndarray]:
        index = info.idx_in_epoch
        if index >= TOTAL:
            raise StopIteration
        if index in self.bad:
            raise ValueError(f"no sample {index}")
        dtype = np.int64 if index in self.odd else np.float32
        return np.full((3, 1 + index), index, dtype), np.array([index], np.int32)


def drawn_from(source: Any, **settings: Any) -> Pipeline:
    """The samples of a source, with random numbers and the numbers of a reader beside them."""
    parallel = settings.pop("parallel", False)
    pipeline = Pipeline(SIZE, 2, None, seed=3, py_num_workers=2, **settings)
    with pipeline:
        data, numbers = fn.external_source(source, num_outputs=2, batch=False, parallel=parallel)
        _, others = fn.readers.file(files=[__file__] * TOTAL, labels=list(range(TOTAL)))
        pipeline.set_outputs(data * fn.random.uniform(range=(1.0, 2.0)), numbers, others)
    return pipeline


@pytest.mark.parametrize("parallel", [False, True])
def test_samples_that_a_source_of_python_does_not_give_are_replaced(parallel: bool) -> None:
    bad = [1, 7, 8, 17]
    order = donors(bad)

    def good(info: Any) -> tuple[np.ndarray, np.ndarray]:
        return Numbers([])(type(info)(order[info.idx_in_epoch], 0, 0, 0))

    wanted = run(drawn_from(good), BATCHES)
    for batch, start in zip(wanted, range(0, TOTAL, SIZE), strict=True):  # labels of the reader go with the samples
        batch[2 * SIZE :] = [np.array([order[start + i]], np.int32) for i in range(SIZE)]
    pipeline = drawn_from(Numbers(bad), on_error="replace", parallel=parallel)
    assert_same(run(pipeline, BATCHES), wanted)
    assert [record.iteration * SIZE + record.sample for record in pipeline.bad_samples] == bad
    assert "no sample 7" in pipeline.bad_samples[1].message
    with pytest.raises(StopIteration):
        pipeline.run()
    skipping = drawn_from(Numbers(bad), on_error="skip", parallel=parallel)
    assert [len(batch) // 3 for batch in run(skipping, BATCHES)] == [5, 4, 5]


@pytest.mark.parametrize("parallel", [False, True])
def test_a_batch_that_a_source_does_not_give_is_filled_with_the_last_good_sample(parallel: bool) -> None:
    def source(number: int) -> np.ndarray:
        if number == 1:
            raise OSError("gone")
        return np.arange(SIZE) + SIZE * number

    def batches(on_error: str) -> Pipeline:
        pipeline = Pipeline(SIZE, 2, None, on_error=on_error, py_num_workers=2)
        with pipeline:
            pipeline.set_outputs(fn.external_source(source, batch=True, parallel=parallel))
        return pipeline

    first, second, third = run(batches("replace"), 3)
    assert [int(row) for row in second] == [SIZE - 1] * SIZE
    assert [int(row) for row in (*first, *third)] == [*range(SIZE), *range(2 * SIZE, 3 * SIZE)]
    assert [len(batch) for batch in run(batches("skip"), 3)] == [SIZE, 0, SIZE]


def test_without_a_policy_an_error_of_a_source_is_raised() -> None:
    with pytest.raises(ValueError, match="no sample 1"):
        drawn_from(Numbers([1])).run()


def without_third_picture(video: bytes) -> bytes:
    """An AVI file whose third picture is zeros; the first mention of a chunk of pictures is that of the index."""
    content = bytearray(video)
    chunks = [place for place in range(len(content)) if content[place : place + 4] == b"00dc"][1:]
    content[chunks[2] + 8 : chunks[3]] = bytes(chunks[3] - chunks[2] - 8)
    return bytes(content)


def test_sequences_of_pictures_and_of_videos_are_replaced(tmp_path: Path) -> None:
    from dali_lab.schema import samples

    for stream in range(3):
        (tmp_path / "frames" / f"{stream}").mkdir(parents=True)
        for index in range(4):
            write_picture(tmp_path / "frames" / f"{stream}" / f"{index}.png", stream)
    no_header(str(tmp_path / "frames" / "1" / "2.png"))
    video = tmp_path / "a.avi"
    video.write_bytes(samples.video(count=6, codec="mjpeg", container="avi").tobytes())
    pipeline = Pipeline(3, 2, None, on_error="replace")
    with pipeline:
        pipeline.set_outputs(fn.readers.sequence(file_root=str(tmp_path / "frames"), sequence_length=4))
    (batch,) = run(pipeline, 1)
    np.testing.assert_array_equal(batch[1], batch[2])
    assert "cannot decode the frame" in pipeline.bad_samples[0].message
    pipeline = Pipeline(3, 2, None, on_error="replace")
    with pipeline:
        pipeline.set_outputs(fn.readers.video(filenames=[str(video)], sequence_length=2))
    pipeline.build()
    wanted = run(pipeline, 1)[0]
    video.write_bytes(without_third_picture(video.read_bytes()))
    pipeline = Pipeline(3, 2, None, on_error="replace")
    with pipeline:
        pipeline.set_outputs(fn.readers.video(filenames=[str(video)], sequence_length=2))
    (batch,) = run(pipeline, 1)
    assert [record.sample for record in pipeline.bad_samples] == [1]
    np.testing.assert_array_equal(batch[1], wanted[2])


def test_sequences_of_a_video_that_is_fed_are_replaced() -> None:
    from dali_lab.schema import samples

    content = without_third_picture(samples.video(count=6, codec="mjpeg", container="avi").tobytes())
    for on_error, lengths in (("replace", 3), ("skip", 2)):
        pipeline = Pipeline(3, 2, None, on_error=on_error, prefetch_queue_depth=1)
        with pipeline:
            pipeline.set_outputs(fn.experimental.inputs.video(name="video", sequence_length=2))
        pipeline.feed_input("video", [np.frombuffer(content, np.uint8)])
        (batch,) = run(pipeline, 1)
        assert len(batch) == lengths and [record.sample for record in pipeline.bad_samples] == [1]
        np.testing.assert_array_equal(batch[1], batch[-1])


@pytest.mark.parametrize("policy", ["replace", "skip"])
@pytest.mark.parametrize("behind", ["nothing", "crop", "resize"])  # a decoder alone, and merged in two ways
def test_a_node_has_an_answer_of_its_own(policy: str, behind: str, folder: Path) -> None:
    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers), name="reader")
        images = fn.decoders.image(encoded, on_error=policy, name="decoder")
        if behind == "crop":
            images = fn.crop(images, crop=(20, 20))
        elif behind == "resize":
            images = fn.crop_mirror_normalize(fn.resize(images, size=(8, 8)))
        return images, labels

    case = Case(graph, ".jpg", no_header)
    left_out = BAD if policy == "skip" else ()
    _, files = damaged(case, folder)
    pipeline = built(case, files, range(TOTAL))
    assert_same(run(pipeline, BATCHES), expected(case, folder, left_out=left_out))
    assert {(record.node, record.operator) for record in pipeline.bad_samples} == {("decoder", "decoders.image")}
    assert all((record.replacement is None) == (policy == "skip") for record in pipeline.bad_samples)
    files[3] += " that is not there"  # the reader's own errors are raised as before
    with pytest.raises(DaliLabError, match="reader"):
        run(built(case, files, range(TOTAL)), 1)


def test_a_node_may_raise_where_the_pipeline_replaces_and_others_skip(folder: Path, tmp_path: Path) -> None:
    def graph(files: Sequence[str], numbers: Sequence[int]) -> Any:
        encoded, labels = fn.readers.file(files=list(files), labels=list(numbers), on_error="skip")
        return fn.decoders.image(encoded, on_error="raise"), fn.peek_image_shape(encoded), labels

    def source(info: Any) -> np.ndarray:
        if info.idx_in_epoch in (1, 8):
            raise ValueError("no such sample")
        return np.array(info.idx_in_epoch)

    files = [shutil.copy(path, tmp_path) for path in good_files(".jpg", folder)]
    gone(files[2])
    pipeline = built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error="replace")
    assert [len(batch) // 3 for batch in run(pipeline, BATCHES)] == [SIZE - 1, SIZE, SIZE]
    no_header(files[4])
    with pytest.raises(DaliLabError, match="cannot decode"):
        run(built(Case(graph, ".jpg", gone), files, range(TOTAL), on_error="replace"), 1)
    pipeline = Pipeline(SIZE, 1, None)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source, batch=False, on_error="replace"))
    assert [int(row) for batch in run(pipeline, 2) for row in batch] == [0, 2, 2, 3, 4, 5, 6, 7, 9, 9, 10, 11]


def test_debug_mode_says_that_it_raises(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    with pytest.warns(UserWarning, match="no effect in debug mode"):
        pipeline = pipeline_def(trained, batch_size=SIZE, num_threads=1, device_id=None, on_error="skip", debug=True)(
            files, range(TOTAL)
        )
    with pytest.raises(DaliLabError, match="truncated"):
        pipeline.run()
    node = pipeline_def(lambda: fn.random.uniform(on_error="replace"), batch_size=2, device_id=None, debug=True)()
    with pytest.warns(UserWarning, match="no effect in debug mode.*labels"):
        node.run()


def test_dynamic_mode_says_that_labels_are_the_programs(folder: Path) -> None:
    _, files = damaged(PLAIN, folder)
    with pytest.raises(DaliLabError, match=r"argument 'on_error'.* catch SampleError"):
        ndd.decoders.image(np.fromfile(files[1], np.uint8), on_error="replace")
    reader = ndd.readers.File(files=[*files[:2], str(folder / "gone")], on_error="replace")
    names = [[int(label.cpu()) for label in labels] for _, labels in reader.next_epoch(batch_size=3)]
    assert names == [[0, 1, 0]]
