"""``dali-lab gallery``: the gallery as a static site, a new entry from a graph, the pictures of the wall."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dali_lab.cli.options import Commands, add_command
from dali_lab.model.errors import DaliLabError
from dali_lab.model.extras import require


def add(commands: Commands) -> None:
    """Declare the command and its parts."""
    parser = add_command(commands, "gallery", "write the gallery as a site, or make an entry from a graph")
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)

    build = add_command(parts, "build", "write the gallery as a static site that works from the file system")
    build.add_argument("folder", metavar="DIR", help="the folder to write")
    build.add_argument("--from", dest="own", metavar="DIR", action="append", default=[], help="entries of your own")
    build.add_argument("--only", metavar="NAMES", help="entries to show, separated by commas")
    build.add_argument("--measure", action="store_true", help="say what each entry costs on this machine")
    build.set_defaults(function=_build)

    new = add_command(parts, "new", "make an entry's folder from a graph")
    new.add_argument("graph", metavar="GRAPH", help="a graph file, or a program")
    new.add_argument("--into", metavar="DIR", default="gallery", help="the gallery's folder (default: gallery)")
    new.add_argument("--name", help="the entry's name (default: that of the file)")
    new.add_argument("--title", help="what people read (default: the name in words)")
    new.set_defaults(function=_new)

    pictures = add_command(parts, "pictures", "draw the wall's pictures beside the entries of a gallery")
    pictures.add_argument("folder", metavar="DIR", nargs="?", help="the gallery's folder (default: the built-in one)")
    pictures.set_defaults(function=_pictures)


def _build(options: argparse.Namespace) -> int:
    require("studio", ("cv2",), "building the gallery")
    from dali_lab.gallery import Gallery, load_gallery, own_folders
    from dali_lab.studio.gallery.site import build_site

    gallery = load_gallery(*(options.own or own_folders(Path.cwd())))
    if options.only is not None:
        names = [name.strip() for name in options.only.split(",") if name.strip()]
        unknown = [name for name in names if name not in gallery.entries]
        if unknown:
            raise DaliLabError(f"there is no entry '{unknown[0]}' in the gallery")
        gallery = Gallery({name: gallery[name] for name in names})
    shown = sys.stderr.isatty()

    def tell(name: str) -> None:
        if shown:
            print(f"\r\x1b[K{name}", end="", file=sys.stderr, flush=True)

    folder = Path(options.folder)
    failed = build_site(gallery, folder, tell=tell, measure=options.measure)
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    for entry in (*gallery.broken, *failed):
        print(f"{entry.name}: {entry.problem}", file=sys.stderr)
    print(f"{len(gallery) - len(failed)} entries in {folder / 'index.html'}")
    return 0


def _new(options: argparse.Namespace) -> int:
    from dali_lab.gallery.making import new_entry

    folder = new_entry(options.graph, options.into, name=options.name, title=options.title)
    print(f"{folder}: write in entry.json when it helps and when it hurts")
    return 0


def _pictures(options: argparse.Namespace) -> int:
    require("studio", ("cv2",), "drawing the gallery's pictures")
    from dali_lab.gallery import built_in_folder, load_gallery
    from dali_lab.studio.gallery.tiles import refresh

    folder = built_in_folder() if options.folder is None else Path(options.folder)
    gallery = load_gallery(folder, built_in=False)
    drawn, failed = refresh(gallery)
    for entry in (*gallery.broken, *failed):
        print(f"{entry.name}: {entry.problem}", file=sys.stderr)
    print(f"{drawn} of {len(gallery)} entries drawn anew")
    return 1 if failed else 0
