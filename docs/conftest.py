"""What builds the site is no test, and its examples run in `make docs`."""

collect_ignore = ["conf.py", "building.py", "gallery", "auto_gallery", "generated", "_build"]
