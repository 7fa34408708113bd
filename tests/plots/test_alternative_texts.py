"""Every number in an alternative text follows from the figure's data."""

import re

import pandas as pd
import pytest
from test_print import FIGURES

from nlgbench.evaluators.names import label

#: Numbers of the analysis that a figure states beside its data, and counts over several columns.
STATED = {
    "atlas, doubtful": ["9"],  # doubtful cells
    "boundary": ["16", "0.50", "0.60", "0.90"],  # neighbors and scores
    "forest, rates": ["50"],  # chance
    "granularity": ["5", "8", "95"],  # fewest studies and systems, confidence
    "pooled": ["8", "95"],  # studies
    "severity": ["2"],  # intervals that exclude 0
}
STATED["boundaries"] = STATED["boundary"]
NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*)?\.?\d+%?(?!\w)")


def numbers_in(alt, data):
    """List the numbers of a text, without those in names."""
    texts = data.select_dtypes(["object", "str"]).stack().map(str).unique()
    names = {name for text in texts for name in (text, text.replace("_", " "), label(text))}
    for name in sorted(names, key=len, reverse=True):
        alt = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", alt) if name else alt
    return [number.replace(",", "") for number in NUMBER.findall(alt.replace("−", "-"))]


def numbers_of(data):
    """List values, counts, and the least, greatest and mean values, in all rows and in groups."""
    found = [len(data)]
    groups = [data]
    for name in data:
        found += [data[name].nunique(), data[name].isna().sum(), data[name].notna().sum()]
        groups += [rows for _, rows in data.groupby(name) if len(rows) > 1]
    for rows in groups:
        numbers = rows.select_dtypes("number")
        found += [len(rows), *numbers.min(), *numbers.max(), *numbers.mean(skipna=False)]
    return pd.Series([*found, *data.select_dtypes("number").to_numpy().ravel()]).dropna()


@pytest.mark.parametrize("name", FIGURES)
def test_every_number_in_words_is_one_of_the_data(name):
    drawn = FIGURES[name]()
    known = numbers_of(drawn.data)
    for number in numbers_in(re.sub(r"Thin lines: .*? errors\.", "", drawn.alt), drawn.data):
        percent = number.endswith("%")
        decimals = len(number.rstrip("%").partition(".")[2])
        printed = (known * (100 if percent else 1)).map(f"{{:.{decimals}f}}".format)
        written = f"{float(number.rstrip('%')):.{decimals}f}"
        assert written in {*printed, *STATED.get(name, [])}, (number, drawn.alt)
