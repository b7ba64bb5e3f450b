"""The gallery's server side: its requests, the thumbnails of the wall, and the cost of an entry."""

from dali_lab.studio.gallery.service import Gallery

__all__ = ["Gallery"]
