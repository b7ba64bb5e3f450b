"""Operators without a pipeline, under NVIDIA DALI's module name: the package :mod:`dali_lab.dynamic` itself."""

import sys

from dali_lab import dynamic

_OWN = f"{dynamic.__name__}."
for _name, _module in list(sys.modules.items()):
    if _name.startswith(_OWN):
        sys.modules[f"{__name__}.{_name.removeprefix(_OWN)}"] = _module
sys.modules[__name__] = dynamic
