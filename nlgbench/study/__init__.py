"""A study: its tables, how a folder of any layout is read as one, and what it cannot tell."""

from nlgbench.study.schema import TABLES
from nlgbench.study.study import (
    Study,
    declared,
    from_rows,
    is_reversed,
    oriented,
    part_of,
    read_folder,
    read_study,
    straight_from,
    trusted,
    with_tables,
)

__all__ = [
    "TABLES",
    "Study",
    "declared",
    "from_rows",
    "is_reversed",
    "oriented",
    "part_of",
    "read_folder",
    "read_study",
    "straight_from",
    "trusted",
    "with_tables",
]
