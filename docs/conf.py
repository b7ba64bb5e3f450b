"""Settings of the documentation: `bash docs/build.sh` builds it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *([str(HERE.parent)] if (HERE.parent / "dali_lab").is_dir() else [])]

import generators  # noqa: E402 (beside this file)
from generators.keywords import add_keywords  # noqa: E402

import dali_lab  # noqa: E402 (of this checkout, where there is one)

project = "DALI Lab"
author = "The DALI Lab developers"
copyright = "The DALI Lab developers, Apache License 2.0"
version = release = dali_lab.__version__

extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton"]
exclude_patterns = ["_build", "coming-from/_names-*", "jupyter_execute", "decisions/README.md", "generators"]
nitpicky = True
smartquotes_action = "qe"  # two hyphens begin an option

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type"]  # widgets, which a page without a kernel cannot show
nb_execution_mode = "off"  # notebooks keep their outputs; the tests run them
nb_ipywidgets_js = {}  # nothing is loaded from the web

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # light or dark, as the browser
html_title = "DALI Lab"
html_logo = html_favicon = str(Path(dali_lab.__file__).parent / "studio" / "icon.svg")
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it fetches pages, which a browser does not do where they are files
html_sidebars = {"index": [], "gallery": []}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "logo": {"text": "DALI Lab"},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}


def setup(app):
    """Write the pages that are made from declarations before Sphinx looks for files, and give pages their keywords."""
    generators.write_all(Path(app.srcdir))
    app.connect("doctree-read", add_keywords)
