"""External sources under the module name that NVIDIA DALI has for them."""

from dali_lab.fn import external_source
from dali_lab.ops import ExternalSource

__all__ = ["ExternalSource", "external_source"]
