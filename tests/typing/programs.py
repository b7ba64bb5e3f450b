"""Users' programs with the answers that type checkers must give; nothing here is run.

mypy and Pyright look at it. A line with an error that must be found ends in ``# type: ignore``; both complain of such a
comment where there is no error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dali_lab
import dali_lab.experimental.dynamic as ndd
import dali_lab.fn as fn
import dali_lab.ops as ops
import dali_lab.plugin.jax as jax_plugin
import dali_lab.plugin.jax.clu as jax_clu
from dali_lab import pipeline_def, tfrecord, types
from dali_lab.data_node import DataNode
from dali_lab.pipeline import Pipeline
from dali_lab.plugin import ray
from dali_lab.plugin.pytorch import DALIClassificationIterator, DALIGenericIterator, DALIRaggedIterator, LastBatchPolicy
from dali_lab.plugin.pytorch.fn import torch_python_function


@pipeline_def(batch_size=8, num_threads=2, device_id=None)
def training(root: str, size: int = 224) -> tuple[DataNode, DataNode]:
    """A program without errors."""
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="Reader")
    images = fn.decoders.image(encoded, device="mixed", output_type=types.RGB)
    images = fn.random_resized_crop(images, size=size, random_area=[0.1, 1.0])
    brightness = 1 + 0.2 * fn.random.uniform(range=(-1.0, 1.0))
    images = fn.brightness_contrast(images, brightness=brightness, contrast=fn.random.normal(mean=1.0, stddev=0.1))
    boxes = fn.external_source(lambda index: [np.zeros(4, np.float32)] * 8)
    fn.bb_flip(boxes, ltrb=True, horizontal=fn.random.coin_flip())
    mirrored = fn.crop_mirror_normalize(
        images, mirror=fn.random.coin_flip(), dtype=types.FLOAT, output_layout="CHW", mean=[128.0], std=[0.5 * 255]
    )
    return mirrored, labels.gpu()


@pipeline_def(batch_size=2, num_threads=2, device_id=None, enable_conditionals=True)
def clips(files: list[str]) -> tuple[DataNode, DataNode, DataNode]:
    """Conditions on nodes, a function of Python with two outputs, and a flag that is also a word."""
    frames, numbers = fn.readers.video(filenames=files, sequence_length=8, enable_frame_num=True)
    if fn.random.coin_flip(probability=0.5):
        frames = fn.flip(frames)
    elif numbers > 3 and not fn.random.coin_flip():
        frames = fn.rotate(frames, angle=fn.random.uniform(range=[-30.0, 30.0]))
    first, second = fn.python_function(frames, function=lambda array: (array, array), num_outputs=2)
    return frames, first, second


@pipeline_def(batch_size=2, num_threads=2)
def two_sizes(root: str, on_gpu: bool) -> list[DataNode]:
    """Devices by a condition, arrays and numbers as inputs, lists of nodes, and flags that add outputs."""
    decoder, device = ("mixed", "gpu") if on_gpu else ("cpu", "cpu")
    images = fn.decoders.image(fn.readers.file(file_root=root)[0], device=decoder)
    small, sizes = fn.resize(images, size=np.array([8.0, 8.0]), save_attrs=True, device=device)
    large: DataNode = fn.resize(images, size=fn.random.uniform(range=(8, 16), shape=2), save_attrs=False)
    large = fn.crop_mirror_normalize(fn.rotate(large, angle=np.float32(3)), mean=np.array([0.5, 0.5, 0.5]))
    masks = [fn.cast(np.zeros((8, 8), np.uint8), dtype=types.FLOAT), fn.cast([1, 2], dtype=types.INT32)]
    annotations = fn.readers.coco(file_root=root, annotations_file="a.json", image_ids=True)
    corner = fn.cat(types.Constant(3), 4, *masks)
    window = fn.slice(images, corner, (2, 2), axes=[0, 1])
    return [small, sizes.gpu(), large, window, fn.stack(*masks), *annotations]


@pipeline_def(batch_size=2, num_threads=2)
def archives(files: list[str], flag: bool) -> tuple[DataNode, ...]:
    """Readers whose outputs depend on their arguments."""
    features = {"image": tfrecord.FixedLenFeature((), tfrecord.string, "")}
    record = fn.readers.tfrecord(path=files, index_path=files, features=features)
    names: list[str] = list(record)
    one: DataNode = fn.readers.webdataset(paths=files, ext="jpg")
    encoded, classes = fn.readers.webdataset(paths=files, ext=["jpg", "cls"])
    pictures, _boxes, _labels, ids = fn.readers.coco(file_root="a", annotations_file="b", image_ids=True)
    sound, *rest = fn.readers.nemo_asr(manifest_filepaths=files)
    frames, sizes = fn.resize(fn.readers.video(filenames=files, sequence_length=3), size=(8, 8), save_attrs=True)
    listed: list[DataNode] = fn.readers.video(filenames=files, sequence_length=3, enable_timestamps=flag)
    halves: list[DataNode] = fn.external_source(list, num_outputs=2)
    boxes, labels = fn.bbox_rotate(one, classes, angle=3, input_shape=[8, 8])
    rotated = fn.bbox_rotate(one, angle=3, input_shape=[8, 8]).gpu() + 1
    first, second = ops.Flip()([one, encoded])
    flipped: DataNode = ops.Flip()(one, name=names[0])
    whole = ops.readers.TFRecord(path=files, index_path=files, features=features)()["image"]
    return (record["image"], one, encoded, pictures, ids, sound, *rest, frames, sizes, *listed, *halves, boxes, labels,
            rotated, first, second, flipped, whole)  # fmt: skip


def loops() -> None:
    """Runs it in the ways that there are."""
    pipe = training("pictures", size=128, batch_size=4)
    training(root="pictures", prefetch_queue_depth=3, seed=1).build()
    clips(["a.mp4"], debug=True).build()
    pipe.build()
    images, labels = pipe.run()
    two_sizes("pictures", on_gpu=True, device_id=0).run()
    pictures, shapes, size = images.as_cpu().as_array(), labels.shape(), pipe.reader_meta("Reader")["epoch_size"]
    assert len(pictures) == len(shapes) <= size
    for batch in DALIClassificationIterator(pipe, reader_name="Reader", last_batch_policy=LastBatchPolicy.DROP):
        assert batch[0]["data"].shape[0] == len(batch[0]["label"].squeeze(-1).long())
    with Pipeline(batch_size=3, num_threads=1, device_id=None) as other:
        read = ops.readers.File(file_root="pictures")
        decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        encoded, _ = read(name="Reader")
        other.set_outputs(decode(encoded))
    for batch in DALIGenericIterator([other], ["pictures"], size=3, auto_reset=True):
        assert batch[0]["pictures"].ndim == 4
    for arrays in jax_plugin.DALIGenericIterator(pipe, ["images", "labels"], 3, last_batch_policy=LastBatchPolicy.DROP):
        assert arrays["images"].shape
    for arrays in jax_plugin.data_iterator(training, ["images", "labels"], reader_name="Reader")("pictures"):
        assert arrays["images"].shape
    peekable = jax_clu.peekable_data_iterator(output_map=["images"], auto_reset=True)(training)("pictures", seed=3)
    assert peekable.peek()["images"].shape == next(peekable)["images"].shape
    assert peekable.peek_async().result()["images"].shape == peekable.element_spec["images"].shape
    dali_lab.show(images, labels=labels, size=128)
    dali_lab.edit(pipe, height=480)


def on_a_cluster(pipe: Pipeline) -> None:
    """Ray."""
    batches = ray.iterator(ray.dataset(pipe, columns=["images", "labels"]), tensors="numpy")
    epoch = iter(batches)
    assert next(epoch)["images"].shape == (3, 2)
    epoch.close()


def paths(folder: Path) -> list[DataNode]:
    """Paths as objects."""
    encoded, _ = fn.readers.file(file_root=folder, files=[folder / "1.jpg", "2.jpg"])
    numbers = tfrecord.VarLenFeature(tfrecord.int64, 0)
    record = fn.readers.tfrecord(path=folder, index_path=[folder], features={"a": numbers})
    read = ops.readers.Numpy(file_root=folder)()
    next(ndd.readers.File(file_root=folder).next_epoch(4))
    return [encoded, record["a"], read, *fn.readers.coco(file_root=folder, annotations_file=folder / "a.json")]


def without_a_pipeline() -> None:
    """Dynamic mode."""
    pictures = ndd.imread(["a.jpg", "b.jpg"])
    small = ndd.resize(pictures, size=(224, 224), interp_type=types.INTERP_CUBIC)
    brighter = ndd.math.clamp(small * ndd.random.uniform(range=(0.8, 1.2), batch_size=small.batch_size), 0, 255)
    ndd.cast(ndd.Batch(brighter), dtype=ndd.uint8, device="cpu")
    ndd.rotate(np.zeros((8, 8, 3), np.uint8), angle=np.float32(3))
    ndd.paste(small, ratio=[1.0, 2.0], fill_value=0)
    ndd.cat(small, [1, 2], *[small, small], axis=0)
    ndd.imread([Path("a.jpg")], device="cpu")
    one: ndd.Tensor = ndd.resize(ndd.imread("a.jpg"), size=(8, 8))
    many: ndd.Batch = ndd.rotate(one, angle=ndd.random.uniform(range=(-9, 9), batch_size=4))
    lists: list[tuple[int, ...]] = (1 - many * one).shape + ndd.math.sqrt(many).shape
    assert (one * 2).item() > float(abs(one)[0, 0, 0]) and one.torch().shape and lists
    assert ndd.flip(np.zeros((2, 2, 3), np.uint8)).item() and ndd.resize(ndd.Batch([]), size=3).tensors[0].item()
    ndd.flip(training("pictures").run()[0]).tensors.tolist()
    ndd.random.set_seed(3)
    ndd.random.choice(np.arange(4), shape=3, rng=ndd.random.RNG(seed=1))
    for encoded, _ in ndd.readers.File(file_root="pictures", name="Reader").next_epoch(batch_size=4):
        assert ndd.decoders.image(encoded, device="mixed").batch_size <= 4
    for record in ndd.readers.TFRecord(path="a", index_path="b", features={}).next_epoch(batch_size=4):
        ndd.decoders.image(record["image"])
    for sound, rate, *_ in ndd.readers.NemoAsr(manifest_filepaths="a").next_epoch(batch_size=4):
        assert sound.batch_size == rate.batch_size


def mistakes(pipe: Pipeline, node: DataNode) -> None:
    """One in each line."""
    _encoded, _labels, _third = fn.readers.file(file_root="pictures")  # type: ignore
    fn.nonexistent(node)  # type: ignore
    fn.readers.nonexistent()  # type: ignore
    fn.resize()  # type: ignore
    fn.cast(node)  # type: ignore
    fn.resize(node, resize_xx=3)  # type: ignore
    fn.resize(node, resize_x="wide")  # type: ignore
    fn.decoders.image(node, output_type="RGB")  # type: ignore
    fn.decoders.image("a.jpg")  # type: ignore
    fn.resize(node, size=[2, 2]).nonexistent()  # type: ignore
    fn.resize(node, size="wide", save_attrs=True)  # type: ignore
    fn.paste(node, ratio=[16, node])  # type: ignore
    fn.resize(node, node, size=[2, 2])  # type: ignore
    fn.rotate({"angle": node}, angle=3)  # type: ignore
    _only, _other = fn.flip(node)  # type: ignore
    fn.cat()  # type: ignore
    fn.cat(node, "text")  # type: ignore
    fn.random.uniform(range=1, sead=3)  # type: ignore
    fn.readers.tfrecord(path="a", index_path="b", features={}).gpu()  # type: ignore
    fn.readers.tfrecord(path="a", index_path="b", features={})["image"].nonexistent()  # type: ignore
    fn.readers.webdataset(paths="a", ext="jpg").nonexistent()  # type: ignore
    fn.readers.webdataset(paths="a", ext=["jpg", "cls"])[0].nonexistent()  # type: ignore
    _a, _b, _c = fn.resize(node, size=[2, 2], save_attrs=True)  # type: ignore
    fn.resize(node, size=[2, 2], save_attrs=bool(node)).nonexistent()  # type: ignore
    fn.readers.video(filenames="a.mp4", sequence_length=3).nonexistent()  # type: ignore
    ops.Flip()(node).nonexistent()  # type: ignore
    ops.Nonexistent()  # type: ignore
    ops.Resize(resize_xx=3)  # type: ignore
    ops.readers.File(file_root=3)  # type: ignore
    fn.cast(node, dtype=types.FLAOT)  # type: ignore
    fn.python_function(node, function=3)  # type: ignore
    Pipeline(batch_sise=3)  # type: ignore
    Pipeline(batch_size="3")  # type: ignore
    pipe.runn()  # type: ignore
    pipe.reader_meta(3)  # type: ignore
    pipe.epoch_size("Reader").keys()  # type: ignore
    fn.external_source(name="images").nonexistent()  # type: ignore
    fn.python_function(node, function=len).nonexistent()  # type: ignore
    DALIGenericIterator(pipe)  # type: ignore
    DALIGenericIterator(pipe, ["a"], reader_nme="Reader")  # type: ignore
    DALIGenericIterator(pipe, ["a"], last_batch_policy=LastBatchPolicy.WHOLE)  # type: ignore
    DALIClassificationIterator(pipe, last_batch_polcy=LastBatchPolicy.DROP)  # type: ignore
    DALIRaggedIterator(pipe)  # type: ignore
    jax_plugin.DALIGenericIterator(pipe)  # type: ignore
    jax_plugin.data_iterator(output_maps=["a"])  # type: ignore
    jax_plugin.data_iterator(training, ["images"], auto_resett=True)  # type: ignore
    jax_clu.peekable_data_iterator(training, ["images"], last_batch_policy=3)  # type: ignore
    jax_clu.peekable_data_iterator(training, ["images"])("pictures").peak()  # type: ignore
    jax_plugin.fn.jax_function(len)(node).nonexistent()  # type: ignore
    training()  # type: ignore
    training("pictures", sise=3)  # type: ignore
    training("pictures", size="wide")  # type: ignore
    training("pictures", batch_size="3")  # type: ignore
    pipeline_def(bach_size=3)  # type: ignore
    pipeline_def(batch_size="3")  # type: ignore
    dali_lab.nonexistent()  # type: ignore
    dali_lab.show(pipe.run()[0], label=["a"])  # type: ignore
    ndd.nonexistent(node)  # type: ignore
    ndd.resize(node, sise=3)  # type: ignore
    ndd.rotate(node)  # type: ignore
    ndd.rotate("a.jpg", angle=3)  # type: ignore
    ndd.rotate(ndd.imread("a.jpg"), angle="much")  # type: ignore
    ndd.imread(3)  # type: ignore
    _ = ndd.imread("a.jpg").tensors  # type: ignore
    ndd.imread(["a.jpg"]).item()  # type: ignore
    _ = ndd.resize(ndd.imread("a.jpg"), size=(2, 2)).tensors  # type: ignore
    ndd.flip(ndd.Batch([])).item()  # type: ignore
    ndd.random.uniform(batch_size=3).item()  # type: ignore
    (ndd.Tensor(1) + ndd.Batch([])).item()  # type: ignore
    ndd.math.nonexistent(3)  # type: ignore
    ndd.readers.File(root="pictures")  # type: ignore
    ndd.readers.Nonexistent()  # type: ignore
    _first, _second, _more = next(ndd.readers.File(file_root="pictures").next_epoch(batch_size=4))  # type: ignore
    next(ndd.readers.File(file_root="pictures").next_epoch(4))[0].item()  # type: ignore
    next(ndd.readers.COCO(file_root="pictures").next_epoch(4))[0].item()  # type: ignore
    next(ndd.readers.TFRecord(path="a", index_path="b", features={}).next_epoch(4))["image"].item()  # type: ignore
    ndd.random.nonexistent()  # type: ignore
    ndd.random.uniform(rnge=(0, 1))  # type: ignore
    ndd.random.choice()  # type: ignore
    ndd.random.normal(mean="much")  # type: ignore
    ndd.random.RNG(sead=3)  # type: ignore
    ndd.Batch([]).nonexistent()  # type: ignore
    ndd.as_tensor()  # type: ignore
    torch_python_function(node, function=3)  # type: ignore
    torch_python_function(node, function=len, num_outputs="3")  # type: ignore
    dali_lab.edit(3)  # type: ignore
    dali_lab.edit(pipe, hight=3)  # type: ignore
    for batch in DALIGenericIterator(pipe, ["a"]):
        batch["a"].numpy()  # type: ignore
