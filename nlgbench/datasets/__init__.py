"""Public studies: a loader for each, and a cache of their released files, verified by hash."""
