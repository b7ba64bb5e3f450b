"""Everyday words by which the search finds a page that does not hold them."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

from dali_lab.model.documentation import page_name
from dali_lab.schema.everyday import other_names
from dali_lab.schema.registry import all_operators

_PAGES = {
    "explanation/data-pipelines": "slow training bottleneck idle utilization gpu dataloader num_workers performance",
    "explanation/executor": "architecture threads prefetch fusion optimize kernels numba compile",
    "explanation/gpu": "cuda nvidia device placement memory stream cupy",
    "explanation/randomness": "seed reproducible reproducibility deterministic determinism random",
    "explanation/speed": "benchmark performance throughput fast latency images second comparison",
    "how-to/app-for-others": "remote server ssh port token password share jupyterhub proxy https tls security",
    "how-to/bad-samples": "broken corrupt damaged truncated invalid images pictures jpeg skip ignore error exception",
    "how-to/c-functions": "custom operator op plugin c++ native extension own",
    "how-to/cache": "faster speed slow memory ram disk ssd reuse precompute preprocess cached",
    "how-to/checking-a-dataset": "broken corrupt damaged truncated invalid images jpeg validate verify duplicates",
    "how-to/containers": "docker dockerfile kubernetes k8s pod podman image deploy cloud cgroup limit",
    "how-to/detection": "object bounding bbox yolo ssd coco annotations keypoints masks segmentation",
    "how-to/does-it-help": "accuracy ablation compare augmentation evaluate experiment",
    "how-to/lightning": "pytorch trainer datamodule ddp",
    "how-to/notebooks": "jupyter ipywidgets colab vscode widget panel cell",
    "how-to/object-stores": "cloud bucket gcs google azure blob minio aws amazon remote streaming http url fsspec",
    "how-to/other-frameworks": "tf keras jax flax paddlepaddle torchvision mxnet dataset iterator",
    "how-to/other-libraries": "export torchvision albumentations keras transforms convert",
    "how-to/own-reader": "custom dataset reader source loader dataloader external generator own",
    "how-to/packing": "shard tar archive convert small files nfs tfrecord webdataset",
    "how-to/plots": "histogram visualise visualize chart matplotlib figure distribution",
    "how-to/ray": "cluster distributed machines nodes scale multi node",
    "how-to/resuming": "resume restart continue checkpoint training interrupted crash preemption save load state",
    "how-to/several-gpus": "multi multiple gpu distributed ddp data parallel torchrun shard rank nodes nccl",
    "how-to/speech": "audio sound wav flac mp3 asr voice spectrogram mel mfcc specaugment",
    "how-to/train": "pytorch loop dataloader epoch batch training normalize imagenet classification",
    "how-to/triton": "inference serving deploy deployment server production",
    "how-to/unattended": "crash oom out memory killed preempt spot sigterm slurm robust long",
    "how-to/video": "mp4 avi mkv mov clips frames ffmpeg decode",
    "migrating": "nvidia dali port compatibility migrate compatible",
    "reference/environment": "variables settings configuration config options",
    "reference/errors": "exception traceback message troubleshooting problem fix",
    "reference/graph-file": "json format schema save git diff",
    "tutorials/09-writing-an-operator": "custom own operator op plugin kernel numba extension",
    "start/code": "quickstart example hello first steps tutorial beginner python",
    "start/editor": "gui visual canvas node graph drag drop quickstart ui",
    "start/install": "windows mac macos linux arm conda uv requirements gpu cuda version wheel size",
}
_OPERATORS = "reference/operators/"


def add_keywords(app: Sphinx, doctree: nodes.document) -> None:
    """Give a page its keywords as it is read; the index of the search takes them along."""
    words = _words(app.env.docname)
    if words:
        doctree.insert(0, nodes.meta(name="keywords", content=", ".join(sorted(words))))


def _words(page: str) -> set[str]:
    if not page.startswith(_OPERATORS):
        return set(_PAGES.get(page, "").split())
    operators = {page_name(name): name for name in all_operators()}
    operator = operators.get(page.removeprefix(_OPERATORS))
    names = other_names("operators", operator) if operator else ()
    return {word.lower() for name in names for word in re.findall(r"\w+", name)}
