"""The gallery: augmentations and recipes as graphs that can be opened, changed and taken along."""

from dali_lab.gallery.entries import Argument, BrokenEntry, Entry, Gallery, load_entry, load_gallery
from dali_lab.gallery.places import PHOTOGRAPHS, built_in_folder, with_pictures

__all__ = [
    "PHOTOGRAPHS",
    "Argument",
    "BrokenEntry",
    "Entry",
    "Gallery",
    "built_in_folder",
    "load_entry",
    "load_gallery",
    "with_pictures",
]
