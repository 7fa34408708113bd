"""What holds for all tests."""

import os

from hypothesis import settings

# How long an example takes is the machine's affair: benchmarks measure time.
settings.register_profile("any machine", deadline=None)
# What CI says of a commit is the same tomorrow; new examples are found where people work.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "any machine")
