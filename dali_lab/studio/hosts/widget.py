"""The editor in a notebook cell: the same bundle and the same session, carried by a widget's messages."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import anywidget
import traitlets

from dali_lab.formats.pictures.drawing import image, svg
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.bundle import require_bundle, script, version
from dali_lab.studio.document.graph_document import live_objects, of_graph, whole
from dali_lab.studio.document.store import UNTITLED, Sample
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.hosts.application import sample_starts
from dali_lab.studio.hosts.showing import KEPT, kind_of
from dali_lab.studio.protocol.connections import Selected
from dali_lab.studio.session import Session
from dali_lab.studio.workspace import Workspace

_PICTURE_DELAY = 0.3
# anywidget drops every message of a widget whose module takes more than two seconds to load, and notebooks keep the
# state of each. So this module is small: it asks the kernel for the editor, once for all editors of a page, and shows
# the picture of the graph until one answers.
_LOADER = """
const editors = (globalThis.daliLabEditors ??= new Map());

function load(model) {
  const version = model.get('_version');
  if (editors.has(version)) return editors.get(version);
  return new Promise((resolve) => {
    const take = ({ editor }, [script] = []) => {
      if (editor !== version) return;
      model.off('msg:custom', take);
      if (!editors.has(version)) {
        const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
        const loaded = import(address).finally(() => URL.revokeObjectURL(address));
        loaded.catch(() => editors.delete(version));
        editors.set(version, loaded);
      }
      resolve(editors.get(version));
    };
    model.on('msg:custom', take);
    try {
      model.send({ editor: version });
    } catch {
      // The kernel is gone: the picture stays.
    }
  });
}

function picture(model) {
  const image = document.createElement('img');
  image.alt = 'The graph';
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(model.get('picture'))}`;
  image.style.cssText = 'display:block;max-width:100%;padding:8px;background:#fff;box-sizing:border-box';
  return image;
}

export default {
  async render({ model, el }) {
    const still = picture(model);
    el.append(still);
    const { default: editor } = await load(model);
    still.remove();
    return editor.render({ model, el });
  },
};
"""


class Editor(anywidget.AnyWidget):
    """An editor in a cell.

    Attributes
    ----------
    height
        Height in CSS pixels.
    theme
        ``"auto"``, ``"light"`` or ``"dark"``.
    graph
        The graph as it stands in the editor, unfinished nodes included; as it was last, where the document holds values
        that cannot be read. Another graph can be put in its place.
    selection
        Names of the selected nodes; others can be selected.
    seed
        The seed that previews and runs use; another can be set.
    picture
        The graph as a drawing (SVG), a moment after each edit: what notebooks keep.
    session
        The session behind it.
    """

    _esm: ClassVar[str] = _LOADER
    _version = traitlets.Unicode(read_only=True).tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)
    theme = traitlets.Enum(["auto", "light", "dark"], "auto").tag(sync=True)
    # These three travel as messages of the session, as in every host.
    graph = traitlets.Instance(Graph)
    selection = traitlets.List(traitlets.Unicode())
    seed = traitlets.Int(min=0)
    picture = traitlets.Unicode("", read_only=True).tag(sync=True)

    def __init__(self, session: Session, **traits: object) -> None:
        self.session = session
        self._shown_graph = Graph()
        with contextlib.suppress(FormatError):
            self._shown_graph = whole(session.store.document, session.store.objects)
        self._shown_selection: list[str] = []
        super().__init__(graph=self._shown_graph, seed=session.store.seed, **traits)
        self._draw()
        self._drawing: threading.Timer | None = None
        session.on_change = _watcher(weakref.ref(self), session.on_change)
        session.on_select = _selector(weakref.ref(self))
        self._port = session.attach(lambda message, buffers: self.send(message, buffers=buffers))
        self.on_msg(self._take)
        # The session's threads must not keep an unreachable editor alive.
        self._ending = weakref.finalize(self, session.close)

    @traitlets.default("_version")
    def _bundle_version(self) -> str:
        return version()

    def _take(self, _: object, content: object, buffers: object) -> None:
        if isinstance(content, dict) and "editor" in content:
            self.send({"editor": self._version}, buffers=[script()])
            return
        self.session.receive(self._port, content)

    def _draw(self) -> None:
        """Bring the picture up to date; one that cannot be drawn stays as it is."""
        self._drawing = None
        with contextlib.suppress(DaliLabError):
            self.set_trait("picture", svg(self.graph))

    def _draw_soon(self) -> None:
        """Draw once the current burst of edits is over."""
        if self._drawing is None:
            self._drawing = threading.Timer(_PICTURE_DELAY, self._draw)
            self._drawing.daemon = True
            self._drawing.start()

    def _changed(self) -> None:
        """Bring the traits up to date."""
        with self.session.lock, contextlib.suppress(FormatError):
            self._shown_graph = whole(self.session.store.document, self.session.store.objects)
            self.graph = self._shown_graph
        self.seed = self.session.store.seed
        self._draw_soon()

    def _selected(self, names: list[str]) -> None:
        self._shown_selection = names
        self.selection = names

    @traitlets.observe("graph")
    def _show_graph(self, change: traitlets.Bunch) -> None:
        if change.new is self._shown_graph:
            return
        self._shown_graph = change.new
        self.session.store.objects.update(live_objects(change.new))
        self.session.store.permissions.allow_all(change.new)
        self.session.replace(of_graph(change.new))

    @traitlets.observe("selection")
    def _show_selection(self, change: traitlets.Bunch) -> None:
        if change.new != self._shown_selection:
            self._selected(change.new)
            self.session.broadcast(Selected(list(change.new)))

    @traitlets.observe("seed")
    def _show_seed(self, change: traitlets.Bunch) -> None:
        with self.session.lock:
            if change.new != self.session.store.seed:
                self.session.edit({"pipeline": {"set": {"seed": change.new}}})

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

    def __panel__(self) -> Any:
        """The editor as a part of a Panel page: the same session, carried by Panel itself."""
        from dali_lab.studio.panel_editor import DaliLabEditor

        look = {"height": self.height, "theme": self.theme, "picture": self.picture}
        return DaliLabEditor(self.session, sizing_mode="stretch_width", **look)

    def close(self) -> None:
        """End the session; the editor shows that it is gone."""
        self._ending()
        super().close()

    def __repr__(self) -> str:
        nodes = len(self.graph.nodes)
        return f"<Editor of a graph with {nodes} node{'' if nodes == 1 else 's'}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and a picture of the present graph for pages without a kernel."""
        bundle = super()._repr_mimebundle_(**options)
        if not bundle:
            return bundle
        data, *rest = bundle if isinstance(bundle, tuple) else (bundle,)
        self._draw()
        data[KEPT] = {"model_id": self.model_id}
        data["image/svg+xml"] = self.picture
        # Notebooks that are not trusted show no SVG by itself, but as an image that cannot run anything.
        data["text/html"] = image(self.picture)
        return (data, *rest) if isinstance(bundle, tuple) else data


def _watcher(reference: weakref.ref[Editor], others: Callable[[Workspace], None] | None) -> Callable[[Workspace], None]:
    """Report each edit to an editor, after the session's existing callback."""

    def changed(session: Workspace) -> None:
        if others is not None:
            others(session)
        editor = reference()
        if editor is not None:
            editor._changed()

    return changed


def _selector(reference: weakref.ref[Editor]) -> Callable[[list[str]], None]:
    """Report the selection on its canvas to an editor."""

    def selected(names: list[str]) -> None:
        editor = reference()
        if editor is not None:
            editor._selected(names)

    return selected


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
        To be shown as the cell's result; `graph` and `pipeline` follow its edits.

    Raises
    ------
    DaliLabError
        If the editor was not built, or the file cannot be opened.
    """
    require_bundle()
    samples = sample_starts(None)
    if isinstance(what, (str, os.PathLike)):
        session = Session(samples=samples)
        try:
            session.store.open_own(os.fspath(what))
        except DocumentError:
            session.close()
            raise
    elif what is None:
        session = Session(samples=samples)
    else:
        session = _session_of(what, samples)
    return Editor(session, height=height, theme=theme)


def _session_of(what: object, samples: list[Sample]) -> Session:
    if not isinstance(what, (Pipeline, Graph)):
        raise DaliLabError(f"a pipeline, a graph or the path of a graph file is needed, not {kind_of(what)}")
    graph = what.graph if isinstance(what, Pipeline) else what
    document = of_graph(graph)
    follow = None
    if isinstance(what, Pipeline):
        document["pipeline"] = {**document["pipeline"], "seed": what.seed}
        follow = _follower(weakref.ref(what))
    session = Session(document, title=UNTITLED, samples=samples, on_change=follow, objects=live_objects(graph))
    # Its paths and packages were named by a program that runs in this process.
    session.store.permissions.allow_all(graph)
    return session


def _follower(reference: weakref.ref[Pipeline]) -> Callable[[Workspace], None]:
    """Gives a pipeline the graph of each edit after which the graph can run."""

    def follow(session: Workspace) -> None:
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
