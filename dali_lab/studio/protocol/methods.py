"""All methods, with what they take and give, and all events."""

from __future__ import annotations

from typing import NamedTuple

from dali_lab.studio.protocol import caches, checks, connections, datasets, documents, gallery, previews, probes
from dali_lab.studio.protocol.catalogue import CatalogueData
from dali_lab.studio.protocol.values import Wire


class Method(NamedTuple):
    """The parameters of a method and its result."""

    params: type[Wire]
    result: type[Wire]


METHODS = {
    "hello": Method(connections.HelloRequest, connections.Hello),
    "restore": Method(connections.RestoreRequest, connections.Hello),
    "catalogue": Method(connections.Empty, CatalogueData),
    "select": Method(connections.SelectRequest, connections.Empty),
    "ping": Method(connections.Empty, connections.Waiting),
    "edit": Method(documents.EditRequest, documents.Edited),
    "open": Method(documents.OpenRequest, documents.Opened),
    "new": Method(connections.Empty, documents.Opened),
    "save": Method(documents.SaveRequest, documents.Saved),
    "list_files": Method(documents.ListFilesRequest, documents.Listing),
    "allow": Method(documents.AllowRequest, documents.Problems),
    "validate": Method(connections.Empty, documents.Problems),
    "export": Method(documents.ExportRequest, documents.Exported),
    "list_pipelines": Method(documents.ListPipelinesRequest, documents.ProgramListing),
    "trace": Method(documents.TraceRequest, documents.Opened),
    "preview": Method(previews.PreviewRequest, previews.RunStarted),
    "cancel": Method(previews.CancelRequest, connections.Empty),
    "run": Method(previews.RunRequest, previews.RunStarted),
    "check": Method(checks.CheckRequest, previews.RunStarted),
    "cache": Method(caches.CacheRequest, previews.RunStarted),
    "dataset": Method(datasets.DatasetRequest, datasets.DatasetPage),
    "distribution": Method(datasets.DistributionRequest, previews.RunStarted),
    "probe": Method(probes.ProbeRequest, previews.RunStarted),
    "sweep": Method(previews.SweepRequest, previews.Swept),
    "play": Method(previews.PlayRequest, previews.Played),
    "compare": Method(previews.CompareRequest, previews.Compared),
    "gallery.list": Method(connections.Empty, gallery.GalleryList),
    "gallery.tiles": Method(gallery.TilesRequest, gallery.TileAnswer),
    "gallery.entry": Method(gallery.EntryRequest, gallery.EntryPage),
    "gallery.draw": Method(gallery.DrawRequest, gallery.DrawAnswer),
    "gallery.cost": Method(gallery.VariantRequest, gallery.Cost),
    "gallery.code": Method(gallery.VariantRequest, gallery.Code),
    "gallery.surprise": Method(gallery.SurpriseRequest, gallery.Surprise),
    "gallery.save": Method(gallery.SaveEntryRequest, gallery.EntryLine),
    "gallery.pictures": Method(gallery.PicturesRequest, gallery.ChosenPictures),
}
EVENTS: dict[str, type[Wire]] = {
    "changed": documents.Changed,
    "document": documents.Opened,
    "state": connections.State,
    "problems": documents.Problems,
    "selected": connections.Selected,
    "catalogue": connections.CatalogueChanged,
    "notice": connections.Notice,
    "preview.started": previews.PreviewStarted,
    "preview.progress": previews.PreviewProgress,
    "preview.node": previews.NodeEvent,
    "preview.unchanged": previews.PreviewUnchanged,
    "preview.focus": previews.FocusEvent,
    "preview.done": previews.DoneEvent,
    "run.progress": previews.RunProgress,
    "run.done": previews.RunDone,
    "check.progress": checks.CheckProgress,
    "check.done": checks.CheckDone,
    "cache.done": caches.CacheDone,
    "distribution.progress": datasets.DistributionProgress,
    "distribution.done": datasets.DistributionDone,
    "probe.progress": probes.ProbeProgress,
    "probe.done": probes.ProbeDone,
}
EVENT_NAMES = {kind: name for name, kind in EVENTS.items()}
