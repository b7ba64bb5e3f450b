"""Answers ``import nvidia.dali``, so that a program written for NVIDIA DALI runs on DALI Lab unchanged."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing.spawn
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType, TracebackType
from typing import Any

from dali_lab.graph.recorder import Recorder
from dali_lab.private_names import PrivateModule, private_children, private_module
from dali_lab.schema.absent import module_reason

ALIAS = "nvidia.dali"
PACKAGE = "dali_lab"
VERSION = "2.4.0"
"""The release of NVIDIA DALI that scripts see: the one whose names and results DALI Lab has."""
COMMANDS = os.path.join(os.path.dirname(__file__), "commands")
"""Folder with the commands of NVIDIA DALI that programs call: ``tfrecord2idx`` and ``wds2idx``."""
_replaced: dict[str, ModuleType] = {}
_made_namespace = False


# Modules that have no file of this name here.
_ELSEWHERE = {"dali_lab.backend_impl": "dali_lab.backend"}


def _own_name(name: str) -> str:
    own = PACKAGE + name[len(ALIAS) :]
    return _ELSEWHERE.get(own, own)


def _is_alias(name: str) -> bool:
    return name == ALIAS or name.startswith(ALIAS + ".")


class _Package(ModuleType):
    """The package under its other name: the same contents, but NVIDIA DALI's version number."""

    def __init__(self, own: ModuleType) -> None:
        super().__init__(own.__name__, own.__doc__)
        self.__version__ = VERSION
        self.__path__ = own.__path__
        self.__file__ = own.__file__
        self._own = own

    def __getattr__(self, name: str) -> Any:
        if private_module(name) is not None:
            return importlib.import_module(f"{ALIAS}.{name}")
        return getattr(self._own, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._own)})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds this package's modules under the other name; below the package there is one module object for both."""

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> Any:
        if not _is_alias(fullname):
            return None
        private = private_module(fullname[len(ALIAS) + 1 :])
        if isinstance(private, PrivateModule):
            return importlib.machinery.ModuleSpec(fullname, self, loader_state=private, is_package=True)
        try:
            module = private or importlib.import_module(_own_name(fullname))
        except ModuleNotFoundError as error:
            if error.name is not None and _own_name(fullname).startswith(error.name):
                raise ModuleNotFoundError(module_reason(fullname.removeprefix(ALIAS + ".")), name=fullname) from None
            raise
        return importlib.machinery.ModuleSpec(fullname, self, is_package=hasattr(module, "__path__"))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if isinstance(spec.loader_state, PrivateModule):
            return spec.loader_state
        module = private_module(spec.name[len(ALIAS) + 1 :]) or importlib.import_module(_own_name(spec.name))
        spec.loader_state = module.__spec__
        return _Package(module) if spec.name == ALIAS else module

    def exec_module(self, module: ModuleType) -> None:
        """Undo what the import system did to the module: its name and its specification are its own.

        Private modules below it are imported with it, so that ``from parent import _module`` finds them: the import
        system would look for them under the parent's own name. Modules below it that are imported already are known
        under the other name too.
        """
        spec = module.__spec__
        if isinstance(module, PrivateModule) or spec is None or not _is_alias(spec.name):
            return
        alias = spec.name
        module.__spec__ = spec.loader_state
        if alias != ALIAS:
            own = module.__name__
            for name in [name for name in sys.modules if name.startswith(own + ".")]:
                other = alias + name[len(own) :]
                if not private_children(other.removeprefix(ALIAS + ".")):  # those are imported with their parents
                    sys.modules.setdefault(other, sys.modules[name])
            for name in private_children(alias.removeprefix(ALIAS + ".")):
                importlib.import_module(f"{ALIAS}.{name}")


class _InstallOnArrival:
    """Installs the alias in the process in which it is unpickled."""

    def __reduce__(self) -> Any:
        return install, ()


def _preparation_data(name: str) -> dict[str, Any]:
    """Preparation data for spawned processes, which installs the alias before they import the main program."""
    return {**_original_preparation(name), "dali_lab": _InstallOnArrival()}


_finder = _Finder()
_original_preparation = multiprocessing.spawn.get_preparation_data


def is_installed() -> bool:
    """Whether ``import nvidia.dali`` gives DALI Lab."""
    return _finder in sys.meta_path


def install() -> None:
    """Make ``import nvidia.dali``, and every module under it, give DALI Lab, whether NVIDIA DALI is installed or not.

    Modules of NVIDIA DALI that were imported before are put aside; names that a program took from them stay theirs.
    Processes that are started find NVIDIA DALI's commands at the end of ``PATH``.
    """
    global _made_namespace
    if is_installed():
        return
    for name in [name for name in sys.modules if _is_alias(name)]:
        _replaced[name] = sys.modules.pop(name)
    Recorder.checks_at_build = True
    sys.meta_path.insert(0, _finder)
    multiprocessing.spawn.get_preparation_data = _preparation_data
    if "nvidia" not in sys.modules:
        try:
            importlib.import_module("nvidia")
        except ModuleNotFoundError:
            namespace = ModuleType("nvidia")
            namespace.__path__ = []
            sys.modules["nvidia"] = namespace
            _made_namespace = True
    os.environ["DALI_LAB_PYTHON"] = sys.executable
    os.environ["PATH"] = os.pathsep.join([*_search_path(), COMMANDS])
    sys.modules["nvidia"].dali = importlib.import_module(ALIAS)  # type: ignore[attr-defined]


def _search_path() -> list[str]:
    """The folders of ``PATH`` without that of the commands."""
    return [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder != COMMANDS]


def uninstall() -> None:
    """Undo :func:`install`."""
    global _made_namespace
    if not is_installed():
        return
    Recorder.checks_at_build = False
    sys.meta_path.remove(_finder)
    multiprocessing.spawn.get_preparation_data = _original_preparation
    os.environ["PATH"] = os.pathsep.join(_search_path())
    os.environ.pop("DALI_LAB_PYTHON", None)
    for name in [name for name in sys.modules if _is_alias(name)]:
        del sys.modules[name]
    sys.modules.update(_replaced)
    namespace = sys.modules["nvidia"]
    if ALIAS in _replaced:
        namespace.dali = _replaced[ALIAS]  # type: ignore[attr-defined]
    elif hasattr(namespace, "dali"):
        del namespace.dali
    if _made_namespace:
        del sys.modules["nvidia"]
        _made_namespace = False
    _replaced.clear()


def run_script(path: str, arguments: Sequence[str] = ()) -> int:
    """Run a program written for NVIDIA DALI, as ``python path arguments…`` would.

    An exception is shown as there: with its traceback from the program's own lines on.

    Returns
    -------
    int
        Its exit status.

    Raises
    ------
    OSError
        If the program cannot be read.
    """
    with open(path, "rb"):
        pass
    install()
    before, folder = sys.argv, os.path.dirname(os.path.abspath(path))
    sys.argv = [path, *arguments]
    sys.path.insert(0, folder)
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return int(end.code or 0)
        sys.stderr.write(f"{end.code}\n")
        return 1
    except Exception as error:
        error.__traceback__ = _from(path, error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    finally:
        sys.argv = before
        sys.path.remove(folder)
    return 0


def _from(path: str, trace: TracebackType | None) -> TracebackType | None:
    """A traceback from the frames of the program on; there are none if it could not be parsed."""
    last = trace
    while last is not None and last.tb_frame.f_code.co_filename != path:
        last = last.tb_next
    return last
