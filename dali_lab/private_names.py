"""Private modules of NVIDIA DALI that programs import, made of what has the same meaning here.

They exist only under ``nvidia.dali``, through :mod:`dali_lab.compat`, and hold nothing but the names in this table; in
place of the whole of some stands a module of the package.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

MODULES: dict[str, str | dict[str, str]] = {
    "_autograph": {
        "do_not_convert": "dali_lab.pipeline.definition:do_not_convert",
        "is_autograph_artifact": "dali_lab.conditionals.rewriting:is_rewritten",
    },
    "_conditionals": {},
    "_multiproc": {},
    "_multiproc.messages": {
        "SampleRange": "dali_lab.interop.multiproc:SampleRange",
        "ShmMessageDesc": "dali_lab.interop.multiproc:ShmMessageDesc",
        "TaskArgs": "dali_lab.interop.multiproc:TaskArgs",
    },
    "_multiproc.pool": {"WorkerPool": "dali_lab.interop.multiproc:WorkerPool"},
    "_multiproc.shared_batch": {
        "BufShmChunk": "dali_lab.interop.multiproc:BufShmChunk",
        "SharedBatchMeta": "dali_lab.interop.multiproc:SharedBatchMeta",
        "SharedBatchWriter": "dali_lab.interop.multiproc:SharedBatchWriter",
        "deserialize_batch": "dali_lab.interop.multiproc:deserialize_batch",
    },
    "_multiproc.shared_queue": {"ShmQueue": "dali_lab.interop.multiproc:ShmQueue"},
    "_utils": {},
    "_utils.autoserialize": {"invoke_autoserialize": "dali_lab.plugin.triton:invoke_autoserialize"},
    "_utils.external_source_impl": {
        "accepted_arg_count": "dali_lab.schema.external:takes_argument",
        "assert_cpu_batch_data_type": "dali_lab.interop.callbacks:check_batch",
        "assert_cpu_sample_data_type": "dali_lab.interop.callbacks:check_sample",
        "get_callback_from_source": "dali_lab.interop.multiproc:callback_and_description",
        "batch_to_numpy": "dali_lab.interop.callbacks:batch_as_array",
        "sample_to_numpy": "dali_lab.model.incoming:to_array",
    },
    "auto_aug.core._args": {"forbid_unused_kwargs": "dali_lab.auto_aug.core.wrapping:forbid_unused"},
    "auto_aug.core._augmentation": {"Augmentation": "dali_lab.auto_aug.core.wrapping:Augmentation"},
    "auto_aug.core._utils": {"get_translations": "dali_lab.auto_aug.core.suites:translations"},
    "_utils.hacks": {"not_iterable": "dali_lab.interop.private:not_iterable"},
    "ops._registry": {
        "_all_registered_ops": "dali_lab.backend:_all_registered",
        "_discover_ops": "dali_lab.schema.registry:load",
    },
    "experimental.dynamic._batch": {
        "Batch": "dali_lab.dynamic.batch:Batch",
        "as_batch": "dali_lab.dynamic.batch:as_batch",
        "batch": "dali_lab.dynamic.batch:batch",
    },
    "experimental.dynamic._device": {
        "Device": "dali_lab.dynamic.places:Device",
        "device": "dali_lab.dynamic.places:device",
    },
    "experimental.dynamic._eval_context": {"EvalContext": "dali_lab.dynamic.modes:EvalContext"},
    "experimental.dynamic._eval_mode": {"EvalMode": "dali_lab.dynamic.modes:EvalMode"},
    "experimental.dynamic._invocation": {"Invocation": "dali_lab.interop.private:Invocation"},
    "experimental.dynamic._ops": "dali_lab.dynamic.classes",
    "experimental.dynamic._stream": {
        "Stream": "dali_lab.dynamic.streams:Stream",
        "stream": "dali_lab.dynamic.streams:stream",
    },
    "experimental.dynamic._tensor": {
        "Tensor": "dali_lab.dynamic.tensor:Tensor",
        "as_tensor": "dali_lab.dynamic.tensor:as_tensor",
        "tensor": "dali_lab.dynamic.tensor:tensor",
    },
    "experimental.dynamic._thread_pool": {
        "ThreadPool": "dali_lab.dynamic.modes:ThreadPool",
        "_get_default_thread_pool": "dali_lab.dynamic.modes:default_thread_pool",
        "get_num_threads": "dali_lab.dynamic.modes:get_num_threads",
        "set_num_threads": "dali_lab.dynamic.modes:set_num_threads",
    },
    "experimental.dynamic._type": {
        "DType": "dali_lab.dynamic.dtypes:DType",
        "dtype": "dali_lab.dynamic.dtypes:dtype",
    },
}
"""Names by module, each with the module and the name that it stands for; or a module of the package."""
for _module, _names in {
    "_enums": "interpolation:InterpolationMode",
    "centercrop": "transforms:CenterCrop",
    "color": "color:ColorJitter color:Grayscale color:RandomGrayscale",
    "compose": "compose:Compose",
    "flips": "transforms:RandomHorizontalFlip transforms:RandomVerticalFlip",
    "functional.centercrop": "functional:center_crop",
    "functional.color": "functional:rgb_to_grayscale functional:to_grayscale",
    "functional.flips": "functional:horizontal_flip functional:vertical_flip",
    "functional.image_metadata": "functional:get_dimensions functional:get_image_size functional:get_size",
    "functional.totensor": "conversion:pil_to_tensor conversion:to_pil_image conversion:to_tensor",
    "gaussian_blur": "color:GaussianBlur",
    "normalize": "color:Normalize",
    "pad": "transforms:Pad",
    "rand_apply": "transforms:RandomApply",
    "randomcrop": "transforms:RandomCrop transforms:RandomResizedCrop",
    "resize": "transforms:Resize",
    "totensor": "conversion:PILToTensor conversion:ToPILImage conversion:ToPureTensor",
}.items():
    MODULES[f"experimental.torchvision.v2.{_module}"] = {
        place.partition(":")[2]: f"dali_lab.interop.torchvision.{place}" for place in _names.split()
    }


class PrivateModule(ModuleType):
    """A module of some names that stand for others."""

    def __init__(self, name: str, names: dict[str, str]) -> None:
        super().__init__(name, "Names of NVIDIA DALI's private module that mean something here.")
        self._names = names
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._names:
            raise AttributeError(f"DALI Lab has no '{self.__name__}.{name}', a private name of NVIDIA DALI", name=name)
        module, _, attribute = self._names[name].partition(":")
        return getattr(importlib.import_module(module), attribute)


def private_module(name: str) -> ModuleType | None:
    """The module of this name (relative to the package), or `None` if there is no such one."""
    names = MODULES.get(name)
    if isinstance(names, str):
        return importlib.import_module(names)
    return None if names is None else PrivateModule(f"nvidia.dali.{name}", names)


def private_children(parent: str) -> list[str]:
    """The private modules directly below a module; names are relative to the package."""
    return [name for name in MODULES if name.rpartition(".")[0] == parent]
