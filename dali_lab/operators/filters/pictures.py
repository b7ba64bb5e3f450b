"""What filters of pictures take."""

LAYOUTS = ("HW", "HWC", "CHW")
