"""A study: its tables, its settings, and how a folder of any layout is read."""

from nlgbench.study.schema import TABLES as TABLES
from nlgbench.study.study import Study as Study
from nlgbench.study.study import from_rows as from_rows
from nlgbench.study.study import from_tables as from_tables
from nlgbench.study.study import oriented as oriented
from nlgbench.study.study import part_of as part_of
from nlgbench.study.study import read_folder as read_folder
from nlgbench.study.study import read_study as read_study
from nlgbench.study.study import with_tables as with_tables
