"""The gallery: augmentations and recipes as graphs that can be opened, changed and taken along."""

from dali_lab.gallery.entries import Argument, BrokenEntry, Entry, Gallery, Overlay, load_entry, load_gallery
from dali_lab.gallery.places import PHOTOGRAPHS, built_in_folder, own_folders, with_pictures

__all__ = [
    "PHOTOGRAPHS",
    "Argument",
    "BrokenEntry",
    "Entry",
    "Gallery",
    "Overlay",
    "built_in_folder",
    "load_entry",
    "load_gallery",
    "own_folders",
    "with_pictures",
]
