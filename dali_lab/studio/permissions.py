"""Permissions of a session: the folders, servers, packages and Python objects that its document may use.

A document is data from anywhere. Anything outside the permissions is refused until the person allows it: the refusal
names the permission, the method ``allow`` asks the question, and its number agrees to exactly the text that was shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from dali_lab.formats.disk import read_bytes
from dali_lab.formats.python.programs import decoded
from dali_lab.gallery.places import built_in_folder, named_folders
from dali_lab.graph.graph import Graph, Node
from dali_lab.graph.verification import Problem
from dali_lab.io.roots import Roots, real, server_of
from dali_lab.model.cache_folder import cache_folder
from dali_lab.model.errors import FormatError
from dali_lab.model.references import PythonReference
from dali_lab.schema.registry import ENTRY_POINT_GROUP, known_operator, offered_by, registered
from dali_lab.studio import working_folder
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.protocol.values import Permission

_PLACEHOLDER = "$"


def usual_roots(*folders: Path) -> Roots:
    """The roots where none are given: these folders and the home of the person; never a whole file system."""
    home = Path(os.path.expanduser("~"))
    kept = [folder for folder in (*folders, home) if folder.is_absolute() and real(folder) != real(folder.anchor)]
    return Roots(kept)


class Permissions:
    """Permissions of a session: what its document may use.

    Parameters
    ----------
    roots
        Folders and servers; the app's own samples and galleries may be read, too.
    objects
        Python objects that documents may name, by their names there.

    Attributes
    ----------
    packages
        Packages whose operators may be used.
    """

    def __init__(self, roots: Roots, objects: Mapping[str, object] | None = None) -> None:
        self.roots = roots
        for folder in (cache_folder(), built_in_folder(), *named_folders()):
            roots.allow_reading(folder)
        self.objects = dict(objects or {})
        self.packages: set[str] = set()

    def place(self, path: str, base: Path, *, write: bool = False) -> Path:
        """A path that came with a request: absolute, links resolved, and within the roots.

        Raises
        ------
        DocumentError
            With the code ``outside`` and the permission that lacks, or ``not_found`` if it is no path.
        """
        found = absolute(path, base)
        allowed = self.roots.writes(found) if write else self.roots.reads(found)
        if not allowed:
            hidden = write and self.roots.root_of(found) is not None
            where = "in a hidden folder" if hidden else "outside the folders that this session uses"
            raise DocumentError(f"{found} lies {where}.", "outside", permission=_folder_of(found))
        return found

    def server(self, address: str) -> None:
        """Ask whether an address that came with a request may be read.

        Raises
        ------
        DocumentError
            With the code ``outside`` and the permission that lacks.
        """
        server = server_of(address)
        if server is not None and not self.roots.reads(address):
            permission = Permission("server", server)
            raise DocumentError(f"{server} has not been allowed yet.", "outside", permission=permission)

    def root(self, place: Path) -> Path:
        """The root that a place lies in, or the place's own folder where it may be read alone."""
        found = self.roots.root_of(place)
        return place.parent if found is None else Path(found)

    def problems(self, graph: Graph) -> Iterator[tuple[Problem, Permission | None]]:
        """Nodes that may not be computed, with the permissions that lack; `None` where none would help."""
        for name, node in graph.nodes.items():
            for message, argument, permission in self._lacking(node):
                code = "consent" if permission is not None and permission.what in ("package", "function") else "outside"
                yield Problem(message, code, name, argument), permission

    def allows(self, graph: Graph) -> bool:
        """Whether all nodes of a graph may be computed."""
        return next(self.problems(graph), None) is None

    def require(self, graph: Graph) -> None:
        """Raise the first problem.

        Raises
        ------
        DocumentError
            With the code ``outside`` or ``consent``, and the permission that lacks.
        """
        for problem, permission in self.problems(graph):
            raise DocumentError(f"'{problem.node}': {problem.message}", problem.code, permission=permission)

    def _lacking(self, node: Node) -> Iterator[tuple[str, str | None, Permission | None]]:
        operator = known_operator(node.op)
        if operator is None:
            return
        offer = offered_by(operator.name)
        package = offer and _package_name(offer)
        if package and package not in self.packages:
            yield (
                f"The package '{package}' has this operator: allow its operators to be run.",
                None,
                Permission("package", package),
            )
        for argument in operator.arguments:
            value = node.arguments.get(argument.name)
            if isinstance(value, PythonReference) and value.importable:
                yield (
                    f"The Python object {value.name} has to be allowed before it is imported and run.",
                    argument.name,
                    Permission("function", str(value.name)),
                )
            if argument.is_path and not (argument.relative_to and node.arguments.get(argument.relative_to)):
                for path in _texts(value):
                    if not self.roots.reads(path):
                        yield _outside(path, argument.name)
                        break

    def allow(self, permission: Permission) -> None:
        """Give a permission that the person agreed to; a Python object is imported.

        Raises
        ------
        DaliLabError
            If the object cannot be imported.
        """
        if permission.what == "folder":
            self.roots.allow(permission.name)
        elif permission.what == "server":
            self.roots.allow_server(permission.name)
        elif permission.what == "package":
            self.packages.add(permission.name)
        else:
            working_folder.lend()
            reference = PythonReference(permission.name)
            self.objects[repr(reference)] = reference.resolve()

    def allow_all(self, graph: Graph) -> None:
        """Give all permissions that a graph lacks, as its pipeline was written in this process; nothing is imported."""
        for _, permission in list(self.problems(graph)):
            if permission is not None and permission.what != "function":
                self.allow(permission)


def absolute(path: str, base: Path) -> Path:
    """A path that came with a request: absolute, links resolved.

    Raises
    ------
    DocumentError
        With the code ``not_found`` if it is no path.
    """
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise DocumentError("That is not a path.", "not_found")
    if server_of(path) is not None:
        raise DocumentError("That is the address of a server, and no path of this machine.", "not_found")
    try:
        return Path(real(base / Path(path).expanduser()))
    except RuntimeError as error:  # the home of somebody who does not exist
        raise DocumentError("That is not a path.", "not_found") from error


def question(permission: Permission) -> str:
    """The text that the person agrees to: a folder, a server, or the code that will run; nothing is imported for it.

    Raises
    ------
    DocumentError
        If there is no such thing to agree to.
    """
    name = permission.name
    if permission.what == "folder" and (not os.path.isabs(name) or real(name) != os.path.normcase(name)):
        raise DocumentError(f"{name} is not a folder without links on the way.")
    if permission.what == "server" and server_of(name) != name:
        raise DocumentError(f"{name} is not a server.")
    if permission.what == "package":
        return _package_text(name)
    return _source_of(name) if permission.what == "function" else name


def _outside(path: str, argument: str) -> tuple[str, str, Permission | None]:
    server = server_of(path)
    if server is not None:
        return f"{server} has not been allowed yet.", argument, Permission("server", server)
    found = real(path)
    if not found:
        return f"{path!r} is not a path.", argument, None
    return f"{found} lies outside the folders that this session uses.", argument, _folder_of(Path(found))


def _folder_of(place: Path) -> Permission:
    """The folder that a place is in or is; a file that lies at the top of a file system is asked for alone."""
    folder = place if place.is_dir() or place.parent == Path(place.anchor) else place.parent
    return Permission("folder", str(folder))


def _texts(value: object) -> Iterable[str]:
    values = value if isinstance(value, tuple) else (value,)
    return [text for text in values if isinstance(text, str) and text and not text.startswith(_PLACEHOLDER)]


def _package_name(entry: Any) -> str:
    return str(entry.dist.name if entry.dist is not None else entry.module.partition(".")[0])


def _package_text(name: str) -> str:
    from importlib.metadata import entry_points

    entries = [entry for entry in entry_points(group=ENTRY_POINT_GROUP) if _package_name(entry) == name]
    if not entries:
        raise DocumentError(f"No package '{name}' offers operators.")
    version = f" {entries[0].dist.version}" if entries[0].dist is not None else ""
    parts = [f"# {name}{version}"]
    for module in dict.fromkeys(entry.module for entry in entries):
        own = sorted(f"fn.{operator.name}" for operator in registered() if _comes_from(operator.name, module))
        parts.append(f"# {', '.join(own) or module}\n{_source_of(module)}")
    return "\n".join(parts)


def _comes_from(operator: str, module: str) -> bool:
    offer = offered_by(operator)
    return offer is not None and offer.module == module


def _source_of(name: str) -> str:
    """The text of the module of a Python object, with the file that it is in."""
    module = name.partition(":")[0]
    spec = _found(module)
    if spec is None:
        raise DocumentError(f"There is no Python module '{module}' here.", "not_found")
    if not spec.origin or not spec.origin.endswith(".py"):
        return f"# {name}: {spec.origin or 'a module without a file'}"
    try:
        return f"# {name}, from {spec.origin}\n{decoded(read_bytes(spec.origin))}"
    except FormatError as error:
        raise DocumentError(str(error), "unreadable") from error


def _found(module: str) -> ModuleSpec | None:
    """The origin of a module; :func:`importlib.util.find_spec` would import the packages it is in."""
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        known = sys.modules.get(name)
        spec = getattr(known, "__spec__", None) if known is not None else _asked(name, path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec


def _asked(name: str, path: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path) if find is not None else None
        if isinstance(spec, ModuleSpec):
            return spec
    return working_folder.find(name) if path is None else None
