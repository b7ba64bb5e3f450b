"""External sources under the module name that NVIDIA DALI has for them."""

from typing import Any

from dali_lab import fn, ops

ExternalSource: Any = getattr(ops, "ExternalSource")  # noqa: B009  (made from the registry)
external_source: Any = getattr(fn, "external_source")  # noqa: B009

__all__ = ["ExternalSource", "external_source"]
