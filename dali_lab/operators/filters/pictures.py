"""Layouts and types that filters of pictures take."""

LAYOUTS = ("HW", "HWC", "CHW")
