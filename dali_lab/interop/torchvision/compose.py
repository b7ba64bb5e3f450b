"""Transforms one after the other, as a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from dali_lab import fn
from dali_lab.interop.pytorch.tensors import to_torch_tensor
from dali_lab.interop.torchvision.conversion import ToPILImage, ToPureTensor, picture_array, to_pil_image
from dali_lab.interop.torchvision.images import Images
from dali_lab.interop.torchvision.transforms import Transform
from dali_lab.model.system import usable_cores
from dali_lab.pipeline import Pipeline, pipeline_def

DEFAULT_BATCH_SIZE = 16
DEFAULT_NUM_THREADS = max(usable_cores() // 2, 1)


@pipeline_def(enable_conditionals=True)
def _steps(op_list: Sequence[Transform], layout: str, channels: int, floating: bool, device: str) -> Any:
    node = fn.external_source(name="images", layout=layout, device=device)
    images = Images(node, layout, channels, floating)
    for transform in op_list:
        images = transform.invoke(images)
    return images.data


class Compose:
    """Transforms one after the other, as one pipeline that is made for the first images.

    Called with a picture of Pillow (of mode L, RGB or RGBA) or a tensor ``[N, C, H, W]`` or ``[C, H, W]`` it gives the
    like, unless :class:`ToPureTensor`, :class:`PILToTensor` or :class:`ToPILImage` is among the transforms. A tensor
    ``[N, F, C, H, W]`` has sequences. Random numbers are drawn for each image of a batch.

    Parameters
    ----------
    op_list
        Transforms.
    batch_size
        The most images in a tensor.
    num_threads
        Threads of the pipeline.
    **dali_pipeline_kwargs
        Further parameters of the pipeline, such as ``seed``.

    Raises
    ------
    TypeError
        If it is called with anything else, or with pictures and tensors in turn.
    """

    def __init__(
        self,
        op_list: Sequence[Transform],
        batch_size: int = DEFAULT_BATCH_SIZE,
        num_threads: int = DEFAULT_NUM_THREADS,
        **dali_pipeline_kwargs: Any,
    ) -> None:
        self.op_list = list(op_list)
        self.batch_size = batch_size
        self.num_threads = num_threads
        self.dali_pipeline_kwargs = dali_pipeline_kwargs
        self._pipelines: dict[tuple[str, int, bool], Pipeline] = {}
        self._pictures: bool | None = None
        kinds = [type(op) for op in self.op_list if isinstance(op, (ToPureTensor, ToPILImage))]
        self._result = kinds[-1] if kinds else None

    def __call__(self, data_input: torch.Tensor | Image.Image) -> Any:
        """Run the pipeline.

        Parameters
        ----------
        data_input
            Images.
        """
        pictures = isinstance(data_input, Image.Image)
        single = isinstance(data_input, torch.Tensor) and data_input.ndim == 3
        if not pictures and not isinstance(data_input, torch.Tensor):
            raise TypeError(f"inpt should be Tensor or PIL Image. Got {type(data_input)}")
        if self._pictures not in (None, pictures):
            expected = "PIL.Images" if self._pictures else "torch.Tensor"
            raise TypeError(f"The pipeline expects {expected} as input got {type(data_input)}")
        if isinstance(data_input, Image.Image):
            batch, layout = torch.from_numpy(picture_array(data_input))[None], "HWC"
        else:
            if not 3 <= data_input.ndim <= 5:
                raise ValueError(
                    f"a tensor has the dimensions [N, C, H, W] or [C, H, W], got {tuple(data_input.shape)}"
                )
            batch = data_input[None] if single else data_input
            layout = "CHW" if batch.ndim == 4 else "FCHW"
        if len(batch) > self.batch_size:
            raise RuntimeError(f"the tensor has {len(batch)} images, and Compose a batch_size of {self.batch_size}")
        self._pictures = pictures
        result = self._run(batch, layout)
        if single:
            result = result[0]
        return self._returned(result, pictures)

    def _run(self, batch: torch.Tensor, layout: str) -> torch.Tensor:
        channels = batch.shape[layout.index("C") + 1]
        key = (layout, channels, batch.dtype.is_floating_point)
        if key not in self._pipelines:
            self._pipelines[key] = self._pipeline(*key)
        (outputs,) = self._pipelines[key].run(images=batch)
        return to_torch_tensor(outputs)

    def _pipeline(self, layout: str, channels: int, floating: bool) -> Pipeline:
        device = self.op_list[0].device if self.op_list else "cpu"
        options = {"batch_size": self.batch_size, "num_threads": self.num_threads, "prefetch_queue_depth": 1}
        made: Pipeline = _steps(
            self.op_list, layout, channels, floating, device, **{**options, **self.dali_pipeline_kwargs}
        )
        return made

    def _returned(self, result: torch.Tensor, pictures: bool) -> Any:
        as_pictures = pictures if self._result is None else issubclass(self._result, ToPILImage)
        if pictures and not as_pictures:
            result = result.permute(0, 3, 1, 2).contiguous()
            return result[0] if len(result) == 1 else result
        if not as_pictures:
            return result
        layout = "HWC" if pictures else "CHW"
        if result.ndim == 3:
            return to_pil_image(result, input_layout=layout)
        images = [to_pil_image(image, input_layout=layout) for image in result]
        return images if len(images) > 1 else images[0]
