"""What holds for all tests."""

from hypothesis import settings

# How long an example takes is the machine's affair: benchmarks measure time.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
