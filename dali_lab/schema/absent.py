"""Modules of NVIDIA DALI that are missing here, each with its replacement."""

from __future__ import annotations

MODULES: dict[str, str] = {
    "experimental.dynamic": "of dynamic mode there are tensors, batches, operators, readers and generators",
    "experimental.eager": "dali_lab.dynamic has operators outside of pipelines",
}


def module_reason(name: str) -> str:
    """Why there is no module `name` (relative to the package): a sentence that names the replacement."""
    text = f"DALI Lab has no module 'nvidia.dali.{name}' of NVIDIA DALI"
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return f"{text}: {MODULES[name]}" if name else text
