"""Ray is asked for where it is used: missing and old releases say what to install."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

import pytest

from dali_lab.interop.ray.requirements import RayError, connect, require_ray


def test_a_missing_ray_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    from dali_lab.plugin import ray as plugin

    for use in (require_ray, connect, lambda: plugin.dataset):
        with pytest.raises(RayError, match=r"takes ray, which is not installed: pip install 'dali-lab\[ray\]'"):
            use()


@pytest.mark.parametrize("version", ["2.59.1", "1.13.0"])
def test_an_old_ray_says_what_to_install(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    for name in ("ray", "pyarrow"):
        module = module_from_spec(ModuleSpec(name, None))
        module.__dict__["__version__"] = version
        monkeypatch.setitem(sys.modules, name, module)
    wanted = rf"Ray {version} is too old, 2\.60 or newer is needed: pip install -U 'dali-lab\[ray\]'.*on all nodes"
    with pytest.raises(RayError, match=wanted):
        require_ray()
