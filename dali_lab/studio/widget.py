"""The editor in a notebook cell: the same bundle and the same session, carried by a widget's messages."""

from __future__ import annotations

import os
import weakref
from base64 import b64encode
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from dali_lab.errors import DaliLabError, FormatError
from dali_lab.formats import json_file
from dali_lab.graph.graph import Graph
from dali_lab.pipeline import Pipeline
from dali_lab.studio.application import sample_starts
from dali_lab.studio.documents import DocumentError, live_objects, whole
from dali_lab.studio.session import Session
from dali_lab.studio.store import UNTITLED

Json = dict[str, Any]
BUNDLE = Path(__file__).with_name("static") / "editor.js"


class Editor(anywidget.AnyWidget):
    """An editor in a cell.

    Attributes
    ----------
    height
        Height in CSS pixels.
    theme
        ``"auto"``, ``"light"`` or ``"dark"``.
    selection
        Names of the selected nodes, as far as the editor tells.
    session
        The session behind it.
    """

    _esm: ClassVar[Path] = BUNDLE
    height = traitlets.Int(640).tag(sync=True)
    theme = traitlets.Enum(["auto", "light", "dark"], "auto").tag(sync=True)
    selection = traitlets.List(traitlets.Unicode(), read_only=True)

    def __init__(self, session: Session, **traits: Any) -> None:
        super().__init__(**traits)
        self.session = session
        self._port = session.attach(lambda message, buffers: self.send(message, buffers=buffers))
        self.on_msg(self._take)
        # The session's threads must not keep an editor alive that nobody can reach any more.
        self._ending = weakref.finalize(self, session.close)

    def _take(self, _: Any, content: Any, buffers: Any) -> None:
        self.session.receive(self._port, content)

    @property
    def graph(self) -> Graph:
        """The graph as it stands in the editor, unfinished nodes included.

        Raises
        ------
        FormatError
            If the document holds values that cannot be read.
        """
        return json_file.from_document(self.session.store.document)

    @property
    def pipeline(self) -> Pipeline:
        """A new pipeline that runs the graph as it stands.

        Raises
        ------
        DaliLabError
            If the graph cannot run; the message says why.
        """
        found = self.session.store.checked()
        for problem in found.problems:
            if problem.severity != "info":
                where = f"node '{problem.node}': " if problem.node and problem not in found.missing else ""
                raise DaliLabError(f"{where}{problem.message}")
        return Pipeline.from_graph(found.draft.graph, seed=self.session.store.seed)

    def close(self) -> None:
        """End the session; the editor shows that it is gone."""
        self._ending()
        super().close()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and a picture of the graph as it is now, for where no kernel runs."""
        bundle = super()._repr_mimebundle_(**options)
        if not bundle:
            return bundle
        data, *rest = bundle if isinstance(bundle, tuple) else (bundle,)
        try:
            from dali_lab.formats.drawing import svg

            picture = svg(self.graph)
            data["image/svg+xml"] = picture
            # Notebooks that are not trusted show no SVG by itself, but as an image that cannot run anything.
            encoded = b64encode(picture.encode()).decode()
            data["text/html"] = f'<img alt="The graph" src="data:image/svg+xml;base64,{encoded}">'
        except DaliLabError:
            pass
        return (data, *rest) if isinstance(bundle, tuple) else data


def edit(
    what: Pipeline | Graph | str | os.PathLike[str] | None = None, *, height: int = 640, theme: str = "auto"
) -> Editor:
    """Open the editor in a notebook cell.

    Parameters
    ----------
    what
        A pipeline, whose `graph` follows what is edited as long as it was not built; a graph; the path of a graph file;
        or nothing, for an empty canvas.
    height
        Height in CSS pixels.
    theme
        ``"auto"``, ``"light"`` or ``"dark"``.

    Returns
    -------
    Editor
        To be shown as the cell's result; `graph` and `pipeline` are what it holds at the moment.

    Raises
    ------
    DaliLabError
        If the editor was not built, or the file cannot be opened.
    """
    if not BUNDLE.is_file():
        raise DaliLabError(
            f"the editor is not built: there is no {BUNDLE}; install with pip, or run 'jlpm build' in extension/"
        )
    samples = sample_starts(None)
    if isinstance(what, (str, os.PathLike)):
        session = Session(samples=samples)
        try:
            session.store.open_path(os.fspath(what))
        except DocumentError:
            session.close()
            raise
    elif what is None:
        session = Session(samples=samples)
    else:
        session = _session_of(what, samples)
    return Editor(session, height=height, theme=theme)


def _session_of(what: Pipeline | Graph, samples: Any) -> Session:
    graph = what.graph if isinstance(what, Pipeline) else what
    document = json_file.to_document(graph)
    follow = None
    if isinstance(what, Pipeline):
        document["pipeline"] = {**document["pipeline"], "seed": what.seed}
        follow = _follower(weakref.ref(what))
    return Session(document, title=UNTITLED, samples=samples, on_change=follow, objects=live_objects(graph))


def _follower(reference: weakref.ref[Pipeline]) -> Any:
    """Gives a pipeline the graph of each edit after which the graph can run."""

    def follow(session: Session) -> None:
        pipeline = reference()
        if pipeline is None:
            return
        found = session.store.checked()
        wrong = any(problem.severity != "info" and problem not in found.missing for problem in found.problems)
        # One that runs already goes on as it was built.
        if wrong or not (found.complete or found.missing) or pipeline._runner is not None:
            return
        try:
            store = session.store
            pipeline._graph = whole(store.document, store.objects) if found.draft.switched else found.draft.graph
        except FormatError:
            return

    return follow
