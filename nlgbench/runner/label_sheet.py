"""What `nlgbench sample` writes: a sheet to be filled with labels, in the folder of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml  # type: ignore[import-untyped]
from scipy.stats import t as student

from nlgbench import files
from nlgbench.analysis.judges.corrected import FEWEST_LABELS
from nlgbench.analysis.judges.sampling import sample_labels
from nlgbench.datasets.public import open_named
from nlgbench.names import UsageError
from nlgbench.papers.atlas import CALLED, PREDICTED
from nlgbench.runner import listing
from nlgbench.study import Study, csv_files
from nlgbench.text import counted

_SHEET, _EARLIER, _SHEETS = "labels.csv", "labels-earlier.csv", "labels*.csv"


def draw_sheet(
    folder: Path, n: int, *, evaluator: str | None, seed: int, out: Path | None, **design: Any
) -> str:
    """Draw outputs, write a study to be labeled, and return what the labels would buy."""
    study = open_named(folder)
    out = out or Path(f"{folder.resolve().name}-labels")
    paths = [path for path in out.glob(_SHEETS) if path.name != _EARLIER]
    sheets = [pd.read_csv(path, dtype=str) for path in paths]
    is_filled = ["label" not in sheet or sheet["label"].notna().any() for sheet in sheets]
    if out.exists() and (not sheets or any(is_filled)):
        raise UsageError(
            f"{out} is kept, because it is no sheet, or has labels: name another --out."
        )
    scored = [] if study.scores is None else study.scores["evaluator"].unique().tolist()
    evaluator = scored[0] if evaluator is None and len(scored) == 1 else evaluator
    drawn = sample_labels(study, n, evaluator=evaluator, seed=seed, **design)
    earlier = 0 if drawn.judgments is None else drawn.judgments["output_id"].nunique()
    n = int(drawn.outputs["probability"].notna().sum()) - earlier
    quality = study.settings.get("quality", "quality")
    dimension = quality if study.judgments is None else study.dimension()
    lines = [
        f"Drew {counted(n, 'output')}. {_expect(study, dimension, evaluator, n + earlier)}",
        f"Fill the column label of {out / _SHEET} with numbers, or with pass and fail. Several "
        "annotators get a copy each, such as labels-ann.csv, and no other file.",
        f"nlgbench run 09 -p study={out} -p sampling=weighted"
        + f" -p evaluator={evaluator}" * (len(scored) > 1),
    ]
    if earlier:
        lines[0] += (
            f" This counts the {earlier:,} outputs with labels: they are kept ({_EARLIER}) as a "
            "random sample. If they are none, take their labels out of the study first."
        )
    if not drawn.outputs["text"].any():
        lines.insert(1, "There are no texts: name their column, nlgbench new FILE --text COLUMN.")
    _write(drawn, dimension, out, np.random.default_rng(seed))
    return "\n".join(listing.wrapped(line, "") for line in lines)


def _write(drawn: Study, dimension: str, folder: Path, rng: np.random.Generator) -> None:
    """Write a study that reads the filled sheet, in which ids of outputs reveal no system."""
    ids = [f"o{number:06}" for number in rng.permutation(len(drawn.outputs)) + 1]
    outputs = drawn.outputs.assign(original_id=drawn.outputs["output_id"], output_id=ids)
    new_ids = outputs.set_index("original_id")["output_id"]
    sheet = outputs.loc[outputs["probability"].notna(), ["output_id", "item_id", "context", "text"]]
    label = pd.Series(np.nan, outputs["output_id"])
    if drawn.judgments is not None:
        rows = drawn.judgments[drawn.judgments["dimension"] == dimension]
        label = rows["output_id"].map(new_ids).pipe(rows["value"].groupby).mean()
    sheet = sheet.assign(label=sheet["output_id"].map(label)).sort_values("output_id")
    is_earlier = sheet["label"].notna()
    settings = {key: drawn.settings[key] for key in ("clusters", "labels") if key in drawn.settings}
    settings["extra"] = list(dict.fromkeys([*drawn.settings["extra"], "original_id"]))
    if drawn.sign(dimension) < 0:
        settings["lower_is_better"] = [dimension]
    judgments = {
        "file": _SHEETS,
        "columns": {"value": "label"},
        "values": {"value": {"pass": 1, "fail": 0}},
        "constants": {"annotator_id": "{file}", "dimension": dimension},
    }
    tables: dict[str, Any] = {"outputs": {"file": "outputs.csv"}, "judgments": judgments}
    with files.new_folder(folder) as draft:
        csv_files.save(outputs, draft / "outputs.csv")
        csv_files.save(sheet[~is_earlier].assign(label=""), draft / _SHEET)
        if is_earlier.any():
            csv_files.save(sheet[is_earlier], draft / _EARLIER)
        if drawn.scores is not None:
            scores = drawn.scores.assign(output_id=drawn.scores["output_id"].map(new_ids))
            csv_files.save(scores, draft / "scores.csv")
            tables["scores"] = {"file": "scores.csv"}
        content = {"name": folder.name, "settings": settings, "tables": tables}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        (draft / "study.yml").write_text(text, encoding="utf-8")


def _expect(study: Study, dimension: str, evaluator: str | None, n: int) -> str:
    """Predict the interval of a system's mean, from a pilot or from other studies."""
    sizes = study.outputs.loc[~study.outputs["is_human"], "system"].value_counts()
    n_labels = max(2, round(n / len(sizes)))
    sd, unit = 1.0, " standard deviations of the labels (of 0 and 1: at most half of that)"
    ends, origin = PREDICTED.get(CALLED.get(str(evaluator), str(evaluator))), "in other studies"
    if study.judgments is not None and evaluator is not None:
        labels = study.judged(dimension).groupby(["system", "output_id"])["value"].mean()
        scores = study.scored([evaluator]).set_index("output_id")["score"]
        pilot = labels.to_frame().join(scores, on="output_id").dropna()
        pilot -= pilot.groupby("system").transform("mean")
        if len(pilot) >= FEWEST_LABELS:
            sd, unit, origin = float(pilot["value"].std()), "", f"of {len(pilot):,} labeled outputs"
            ends = (float(pilot["value"].corr(pilot["score"])),) * 2

    def half_width(r: float) -> str:
        variance = sd**2 * (1 - r**2 * (1 - n_labels / sizes.mean())) / n_labels
        return f"±{student.ppf(0.975, n_labels - 1) * np.sqrt(variance):.2g}"

    text = f"Drawn at random, {n_labels:,} labels of a system would give its mean "
    text += f"a 95% interval of {half_width(0)}{unit}. "
    if ends is None:
        return text + (
            f"What {evaluator or 'a judge'} adds is unknown, because it is not in the atlas, and "
            f"fewer than {FEWEST_LABELS} outputs have its score and a label."
        )
    worst = 0.0 if ends[0] < 0 < ends[1] else min(map(abs, ends))
    widths = " to ".join(dict.fromkeys(map(half_width, (max(map(abs, ends)), worst))))
    correlations = " to ".join(dict.fromkeys(f"{end:.2f}" for end in ends))
    return text + f"Corrected by {evaluator}: {widths} (correlation {correlations} {origin})."
