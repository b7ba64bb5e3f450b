"""The gallery as a static site: pages, pictures and graphs in a folder, to be opened from the file system."""

from dali_lab.studio.gallery.site.building import build_site

__all__ = ["build_site"]
