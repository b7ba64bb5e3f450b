"""The static site: every link leads to a file in it, nothing leads out, and no page runs what it shows."""

from __future__ import annotations

import json
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dali_lab.cli import main
from dali_lab.formats.json import graph_file as json_file
from dali_lab.gallery import Gallery, built_in_folder, load_entry, load_gallery
from dali_lab.gallery.making import new_entry
from dali_lab.schema.registry import find_operator
from dali_lab.studio.gallery.site import build_site

SHOWN = ("brightness", "hsv", "recipe-simclr", "recipe-detection-flip", "recipe-video-clips", "spectrogram")
MEAN = '<script>alert("x")</script> & "quoted" \'single\''


class Links(HTMLParser):
    """Parses a page: its links, and the contents of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self._script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._script = tag == "script"
        for name, value in attributes:
            assert not name.startswith("on") and name != "style"
            if name in ("href", "src", "srcset", "action", "poster") and value:
                self.links.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts.append(data)
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    own = root / "own"
    brightness = load_entry(built_in_folder() / "brightness")
    for name in ("mean", "broken", "no-pictures", "later"):
        new_entry(brightness.graph, own, name=name)
    later = json.loads((own / "later" / "entry.json").read_text()) | {"waiting": "better pictures"}
    (own / "later" / "entry.json").write_text(json.dumps(later))
    entry = json.loads((own / "mean" / "entry.json").read_text())
    entry |= {"title": MEAN, "helps": MEAN, "tags": [MEAN]}
    (own / "mean" / "entry.json").write_text(json.dumps(entry))
    (own / "broken" / "graph.dali.json").unlink()
    graph = own / "no-pictures" / "graph.dali.json"
    graph.write_text(graph.read_text().replace("$photographs", "/nowhere"))
    every = load_gallery(own)
    chosen = {name: every[name] for name in (*SHOWN, "mean", "no-pictures", "later")}
    failed = build_site(Gallery(chosen, every.broken), root / "site")
    assert [entry.name for entry in failed] == ["no-pictures"]
    return root / "site"


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def parsed(page: Path) -> Links:
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def test_no_broken_link_and_nothing_outside(site: Path) -> None:
    reached = {site / "index.html"}
    for page in pages(site):
        for link in parsed(page).links:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            assert not parts.scheme and not parts.netloc, (page.name, link)
            target = (page.parent / unquote(parts.path)).resolve()
            assert target.is_file(), (page.name, link)
            assert site.resolve() in target.parents
            reached.add(target)
    lost = {path.resolve() for path in site.rglob("*") if path.is_file()} - {path.resolve() for path in reached}
    assert not lost
    for asset in ("style.css", "site.js"):
        text = (site / asset).read_text()
        assert "http" not in text and "url(" not in text and "@import" not in text


def test_pages_run_the_sites_script_alone(site: Path) -> None:
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        assert "script-src 'self' file:;" in text[: text.index("<title>")]
        assert text.count("<script") == text.count("site.js")


def test_every_entry_has_its_page_pictures_and_graph(site: Path) -> None:
    index = parsed(site / "index.html")
    for name in SHOWN:
        assert f"entries/{name}.html" in index.links
        json_file.load(site / "graphs" / f"{name}.dali.json")
    hsv = (site / "entries" / "hsv.html").read_text()
    assert "Random draws" in hsv and "fn.hsv" in hsv and "<svg" in hsv
    assert len(list((site / "pictures" / "hsv").glob("draw-*.jpg"))) == 8
    assert len(list((site / "pictures" / "brightness").glob("range-0-*.jpg"))) == 7
    assert "Waiting" in (site / "entries" / "later.html").read_text()


def test_what_is_wrong_is_said(site: Path) -> None:
    text = parsed(site / "index.html").text
    assert "broken" in text and "graph.dali.json is missing" in text
    assert "no-pictures" in text and "/nowhere" in text


def test_texts_are_text(site: Path) -> None:
    for page in (site / "index.html", site / "entries" / "mean.html"):
        found = parsed(page)
        assert not any(script.strip() for script in found.scripts)
        assert MEAN in found.text


def test_no_path_of_this_machine_is_in_the_pages(site: Path) -> None:
    for path in [*pages(site), *site.rglob("*.json")]:
        assert str(Path.home()) not in path.read_text(encoding="utf-8")


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert main(["gallery", "build", str(tmp_path), "--only", "hue"]) == 2
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_the_command_builds_and_builds_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("hue", "gamma"):
        assert main(["gallery", "build", str(tmp_path / "site"), "--only", name]) == 0
    assert (tmp_path / "site" / "entries" / "gamma.html").is_file()
    assert not (tmp_path / "site" / "entries" / "hue.html").exists()
    assert "1 entries" not in capsys.readouterr().err
    assert main(["gallery", "build", str(tmp_path / "site"), "--only", "none-such"]) == 2


def test_operators_are_named_as_nvidia_dali_has_them(site: Path) -> None:
    named = {page.stem: page.read_text("utf-8") for page in (site / "operators").glob("*.html")}
    assert named
    for name, text in named.items():
        there = find_operator(name).name_in_nvidia_dali()
        assert ("NVIDIA DALI has no such operator" if there is None else f"{escape(there)}</code>") in text
