"""EMNLP-17: utterances of three generators on three data sets, judged in three dimensions.

Novikova et al. (2017), Why We Need New Evaluation Metrics for NLG, doi:10.18653/v1/D17-1238.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench.study import Study, csv_files, from_rows

RAW_FILE = "emnlp17/emnlp_data_medians.csv"

#: Data set, as named in the paper -> name in the release.
DATA = {"bagel": "BAGEL", "sfhotel": "SFHOT", "sfrest": "SFRES"}

#: Name in the release -> system, as named in the paper.
SYSTEMS = {"Dusek": "tgen", "LOLS": "lols", "WEN": "rnnlg"}

#: All are rated from 1 to 6; higher is better.
DIMENSIONS = ("informativeness", "naturalness", "quality")


def read_emnlp17(path: Path, data: str) -> Study:
    """Read the outputs on one of the three data sets (`DATA`) as tidy tables.

    ``bagel`` has outputs of TGen and LOLS; ``sfhotel`` and ``sfrest`` of LOLS and RNNLG. An item is
    a meaning representation (``context``); a system that received it several times has several
    outputs. Medians of three annotators are stored as judgments by annotator ``median``. Scores are
    the release's 23 columns. For ``TER`` and ``lev.dist``, lower is better; some others describe a
    text and have no direction.
    """
    frame, _ = csv_files.parse(path)
    columns = list(frame)
    metrics = columns[columns.index("TER") : columns.index("informativeness")]
    frame = frame[frame["dataset"] == DATA[data]].reset_index(drop=True)
    item = "m" + pd.Series(pd.factorize(frame["mr"])[0] + 1).map("{:03d}".format)
    system = frame["system"].map(SYSTEMS)
    again = frame.groupby(["mr", "system"]).cumcount().map(lambda n: f"-{n + 1}" if n else "")
    outputs = pd.DataFrame(
        {
            "output_id": item + "-" + system + again,
            "item_id": item,
            "system": system,
            "text": frame["sys_ref"],
            "is_human": False,
            "context": frame["mr"],
        }
    )
    judged = frame[list(DIMENSIONS)].assign(output_id=outputs["output_id"])
    judgments = judged.melt("output_id", var_name="dimension", value_name="value")
    scored = frame[metrics].assign(output_id=outputs["output_id"])
    scores = scored.melt("output_id", var_name="evaluator", value_name="score")
    return from_rows(
        outputs=outputs,
        judgments=judgments.assign(annotator_id="median"),
        scores=scores,
        settings={"scales": {name: {"min": 1.0, "max": 6.0} for name in DIMENSIONS}},
    )
