"""The gallery's page: what it asks of a session, the pictures of its wall, what an entry costs."""

from dali_lab.studio.gallery.service import Gallery

__all__ = ["Gallery"]
