"""The gallery as static pages inside the site."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from dali_lab.gallery import load_gallery
from dali_lab.gallery.places import built_in_folder
from dali_lab.studio.gallery.site import build_site
from generators.files import write_page


def write(docs: Path) -> None:
    """Write `_extra/gallery`, where an entry has changed; not at all with ``DALI_LAB_DOCS_GALLERY=no``."""
    folder = docs / "_extra" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    if os.environ.get("DALI_LAB_DOCS_GALLERY") == "no":
        return
    digest = hashlib.sha256()
    for path in sorted(built_in_folder().rglob("*.json")):
        digest.update(path.read_bytes())
    made_of = folder / ".made-of"
    if made_of.is_file() and made_of.read_text() == digest.hexdigest():
        return
    failed = build_site(load_gallery(), folder)
    if failed:
        raise RuntimeError(f"the gallery's entry '{failed[0].name}' cannot be drawn: {failed[0].problem}")
    write_page(made_of, digest.hexdigest())
