"""AlpacaEval 2: three systems compared with a reference system by the leaderboard's judge.

Dubois, Galambosi, Liang and Hashimoto (2024), Length-Controlled AlpacaEval, arXiv:2404.04475.
"""

from __future__ import annotations

from pathlib import Path

from nlgbench.study import Study, from_tables, reading, schema
from nlgbench.study.csv_files import TableError

RAW_FILES = [
    f"judge-logs/alpaca_eval/{name}.json" for name in ("claude-2", "vicuna-7b", "NullModel")
]


def read_alpaca_eval(*paths: Path) -> Study:
    """Read AlpacaEval annotations: outputs, and comparisons in the order shown to the judge.

    The tables are those of ``format: alpaca_eval``. NullModel, which always writes the same text,
    is called ``example`` in its file.
    """
    problems: list[str] = []
    source = {
        "format": "alpaca_eval",
        "files": [str(path) for path in paths],
        "settings": {},
        "rename": {"system": {"example": "NullModel"}},
    }
    raws, _ = reading.read(paths[0].parent, source, problems)
    if problems:
        raise TableError(*problems)
    tables = {table: schema.typed(raw.frame, table) for table, raw in raws.items()}
    tables["outputs"]["dataset"] = raws["outputs"].frame["dataset"].to_numpy()
    return from_tables(**tables, settings=source["settings"])
