"""One page of JupyterLab for most tests here: loading takes longer than most of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dali_lab.gallery.samples import photographs
from tests.frameworks.browser.conftest import Tab
from tests.frameworks.browser.jupyterlab.document import Document, page_of
from tests.frameworks.browser.lab import Lab, is_ours


@pytest.fixture(scope="package")
def lab(jupyterlab: Lab) -> Lab:
    """JupyterLab with sample photographs in the folder that it serves."""
    (jupyterlab.folder / "pictures").symlink_to(photographs(), target_is_directory=True)
    return jupyterlab


@pytest.fixture(scope="package")
def page(lab: Lab, browser: Any) -> Iterator[Tab]:
    """The page that all documents are opened in."""
    with page_of(lab, browser) as tab:
        yield tab


@pytest.fixture(scope="package")
def kernel(page: Tab) -> str:
    """A kernel for all documents that need none of their own; a session beside theirs keeps it."""
    identity: str = page.page.evaluate(
        """() => window.jupyterapp.serviceManager.sessions
          .startNew({ path: 'kernel', name: 'kernel', type: 'console', kernel: { name: 'python3' } })
          .then((session) => session.kernel.id)"""
    )
    return identity


@pytest.fixture
def shown(page: Tab, lab: Lab, kernel: str) -> Iterator[Document]:
    """The page with nothing open; in the end nothing may have gone wrong in it, and no other host was asked."""
    page.problems.clear()
    yield Document(page, lab, kernel)
    page.page.unroute_all()
    page.page.evaluate(
        """async (kernel) => {
          for (const widget of [...window.jupyterapp.shell.widgets('main')]) {
            const { context } = widget, own = context?.sessionContext;
            if (context) context.model.dirty = false;
            // A session that is being started when it is ended takes its kernel along, also one that others share.
            await own?.initialize().catch(() => null);
            if (own?.session?.kernel?.id !== kernel) await own?.shutdown().catch(() => null);
            widget.dispose();
          }
        }""",
        kernel,
    )
    assert not [problem for problem in page.problems if is_ours(problem)]
    assert page.hosts <= {"127.0.0.1"}
