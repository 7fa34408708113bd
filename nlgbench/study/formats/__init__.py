"""What tools and platforms write, mapped to our tables."""

from collections.abc import Callable

import pandas as pd

from nlgbench.study.column_names import Specs
from nlgbench.study.formats.crowd import mturk, prolific
from nlgbench.study.formats.mqm_errors import mqm
from nlgbench.study.formats.pairs import pairwise
from nlgbench.study.formats.tools import label_studio, potato

ADAPTERS: dict[str, Callable[[pd.DataFrame], Specs]] = {
    "mturk": mturk,
    "prolific": prolific,
    "label-studio": label_studio,
    "potato": potato,
    "mqm": mqm,
    "pairwise": pairwise,
}
