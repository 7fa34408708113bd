"""Judged outputs with their scores, as samples: arrays of evaluators that scored the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.analysis.correlation.coefficients import divide, equalized
from nlgbench.analysis.correlation.intervals import Options
from nlgbench.arrays import Floats
from nlgbench.names import known
from nlgbench.status import Unsupported
from nlgbench.study import Study


def chosen_evaluators(
    study: Study, evaluators: Iterable[str] | None, granularity: str
) -> dict[str, str]:
    """Map each evaluator to its table, and prefer scores of outputs to scores of systems."""
    table_of: dict[str, str] = {}
    for table in ("system_scores", "scores"):
        frame = getattr(study, table)
        if frame is not None:
            table_of |= dict.fromkeys(map(str, frame["evaluator"].unique()), table)
    if not table_of:
        raise Unsupported(
            "no_scores", f"{study.name} has no scores: add them with nb.score(study, [...])."
        )
    chosen = {}
    for name in table_of if evaluators is None else evaluators:
        chosen[name] = table_of[known(name, list(table_of), "evaluators")]
    of_systems = [name for name, table in chosen.items() if table == "system_scores"]
    if of_systems and granularity != "system":
        if evaluators is not None or len(of_systems) == len(chosen):
            raise Unsupported(
                "no_scores",
                f"{of_systems[0]!r} scored only systems, but granularity={granularity!r} needs "
                "scores of outputs.",
            )
        return {name: table for name, table in chosen.items() if table == "scores"}
    return chosen


def dimensions_of(study: Study, dimension: str | None) -> list[str]:
    """List the dimensions of the judgments, or check the selected one."""
    if study.judgments is None or study.judgments.empty:
        raise Unsupported(
            "no_judgments",
            f"{study.name} has no judgments: add a table of judgments to the study.",
        )
    return study.dimensions if dimension is None else [study.dimension(dimension)]


class JudgedOutputs(NamedTuple):
    """Judged outputs (output_id, item_id, system, cluster, judgment), and the number of outputs.

    `clusters` is the column that defines clusters; None means items.
    """

    rows: pd.DataFrame
    n_outputs: int
    clusters: str | None
    include_human: bool

    def average_by_system(self, name: str) -> pd.DataFrame:
        """Average judgments by system, in a column with the given name."""
        return self.rows.groupby("system", sort=False)["judgment"].mean().to_frame(name)

    def describe_units(self, options: Options) -> str:
        """Describe the resampled units: items, clusters of a column, or systems."""
        if options.resample is None:
            return "none"
        if self.clusters is None or options.resample == "systems":
            return options.resample
        return f"clusters of {self.clusters}{' and systems' * (options.resample == 'both')}"


def judged_outputs(
    study: Study, dimension: str, clusters: str | None, include_human: bool
) -> JudgedOutputs:
    """Average each output's judgments, and add its cluster."""
    clusters = clusters or (study.clusters if study.clusters != "item_id" else None)
    judgments = study.judged(dimension)
    outputs = study.outputs if include_human else study.outputs[~study.outputs["is_human"]]
    values = judgments.groupby("output_id")["value"].mean()
    rows = outputs[["output_id", "item_id", "system"]].assign(
        cluster=_clusters(outputs, judgments, clusters),
        judgment=equalized(outputs["output_id"].map(values).to_numpy(dtype=np.float64)),
    )
    rows = rows[rows["judgment"].notna()].reset_index(drop=True)
    if rows.empty:
        raise Unsupported(
            "no_judgments",
            f"no output has a judgment of {dimension!r} ({len(outputs)} outputs"
            f"{'' if include_human else ', human texts excluded'}).",
        )
    if (rows["cluster"].isna() | (rows["cluster"] == "")).any():
        raise Unsupported(
            "no_clusters",
            f"the cluster column {clusters!r} is empty for some judged outputs: fill it in, or "
            "choose another column.",
        )
    return JudgedOutputs(rows, len(outputs), clusters, include_human)


def _clusters(outputs: pd.DataFrame, judgments: pd.DataFrame, column: str | None) -> pd.Series:
    if column is None:
        return outputs["item_id"]
    if column != "group_id":
        if column not in outputs:
            known(column, [*map(str, outputs.columns), "group_id"], "clusters")
        return outputs[column]
    groups = judgments.groupby("output_id")["group_id"]
    several = groups.nunique()[lambda n: n > 1]
    if len(several):
        raise Unsupported(
            "several_groups",
            f"output {several.index[0]!r} was judged in {several.iloc[0]} groups, but must be in "
            "one cluster: keep the judgments of one group, or resample items.",
        )
    return outputs["output_id"].map(groups.first())


def output_scores(study: Study, judged: JudgedOutputs, evaluators: Sequence[str]) -> pd.DataFrame:
    """Return scores of judged outputs with a column per evaluator; NaN where a score is missing."""
    scores = study.scored()
    scores = scores[scores["evaluator"].isin(evaluators)]
    wide = scores.pivot(index="output_id", columns="evaluator", values="score")
    aligned = wide.reindex(judged.rows["output_id"]).reset_index(drop=True)
    for name in aligned:
        if aligned[name].isna().all():
            raise Unsupported(
                "no_scores",
                f"evaluator {name!r} has no score for any judged output: check the output_id of "
                "its scores, or leave it out.",
            )
    return aligned.apply(equalize_column)


def equalize_column(column: pd.Series) -> Floats:
    """Make values equal that differ by rounding."""
    return equalized(column.to_numpy(dtype=np.float64))


class Sample(NamedTuple):
    """Outputs that m evaluators have scored: scores (m, n), judgments (n,), and labels.

    Items, systems and clusters are numbered from 0; some numbers may be unused.
    """

    x: Floats
    y: Floats
    item: NDArray[np.int64]
    system: NDArray[np.int64]
    cluster: NDArray[np.int64]
    n_systems: int
    n_clusters: int


def samples_of(judged: JudgedOutputs, scores: pd.DataFrame) -> Iterator[tuple[list[str], Sample]]:
    """Group evaluators that have scored the same outputs; all groups share one numbering."""
    scored_by = scores.notna()
    number = {name: pd.factorize(judged.rows[name])[0] for name in ("item_id", "system", "cluster")}
    patterns = scored_by.apply(lambda column: column.to_numpy().tobytes())
    for _, names in patterns.groupby(patterns, sort=False):
        scored = scored_by[names.index[0]].to_numpy()
        sample = Sample(
            scores.loc[scored, names.index].to_numpy(dtype=np.float64).T,
            judged.rows.loc[scored, "judgment"].to_numpy(dtype=np.float64),
            item=number["item_id"][scored],
            system=number["system"][scored],
            cluster=number["cluster"][scored],
            n_systems=int(number["system"].max()) + 1,
            n_clusters=int(number["cluster"].max()) + 1,
        )
        yield [str(name) for name in names.index], sample


def item_grids(sample: Sample) -> tuple[Floats, Floats]:
    """Average scores (m, items, systems) and judgments (items, systems) over outputs."""
    count, x, y = _sums(sample, np.unique(sample.item, return_inverse=True)[1])
    return np.stack([equalized(divide(totals, count)) for totals in x]), equalized(divide(y, count))


def system_means(sample: Sample) -> tuple[Floats, Floats]:
    """Average outputs by system: scores (m, s), judgments (s,); rounding does not break ties."""
    count, x, y = (sums_of.sum(axis=-2) for sums_of in cluster_sums(sample))
    return np.stack([equalized(totals / count) for totals in x]), equalized(y / count)


def cluster_sums(sample: Sample) -> tuple[Floats, Floats, Floats]:
    """Count outputs, and sum scores and judgments, by cluster and system, except empty ones."""
    count, x, y = _sums(sample, sample.cluster)
    rows, columns = np.ix_(count.any(axis=1), count.any(axis=0))
    return count[rows, columns], x[:, rows, columns], y[rows, columns]


def _sums(sample: Sample, row: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Count outputs, and sum scores and judgments, by row and system."""
    cell, shape = row * sample.n_systems + sample.system, (row.max() + 1, sample.n_systems)
    count, *sums = (
        np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
        for values in (np.ones(len(cell)), *sample.x, sample.y)
    )
    return count, np.stack(sums[:-1]), sums[-1]


def clusters_of_items(sample: Sample) -> NDArray[np.int64]:
    """Return each item's cluster, in the order of `item_grids`."""
    pairs = np.unique(np.stack([sample.item, sample.cluster]), axis=1)
    if pairs.shape[1] != len(np.unique(pairs[0])):
        raise Unsupported(
            "several_clusters",
            "some items belong to several clusters, but granularity='item' needs one per item: "
            "leave out `clusters`, or use granularity='output'.",
        )
    return pairs[1]
