"""Tests of whether ratings of systems and checkpoints follow a known truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from nlgbench.analysis.ratings.rating import rate
from nlgbench.analysis.trials.running import trial
from nlgbench.evaluators.comparator.comparators import Backend
from nlgbench.evaluators.comparator.pairs import system_pairs
from nlgbench.study import Study, from_tables, with_tables
from nlgbench.study.checks import checked
from nlgbench.worlds.quality import true_comparisons, true_quality

#: If mean qualities differ by less, the better system may truly win less often.
CLEAR = 0.15


@checked
def true_order(study: Study, *, tie_ratio: float = 0.1, seed: int = 0) -> pd.DataFrame:
    """Test whether ratings order systems by quality, for simulated evaluators of known accuracy.

    `study` is from `nlgbench.worlds.comparing.compared_reviews`.

    Returns
    -------
    DataFrame
        A row per accuracy and number of games: accuracy, games of two systems, clear pairs (number
        of pairs more than .15 nats per token apart), in true order (share of these), spearman (of
        ratings with systems' mean quality).

    Notes
    -----
    Of pairs that differ less, the system that is worse on average may win more games.
    """
    assert study.truth is not None and study.related is not None
    truth = study.truth["systems"].set_index("system")["quality"]
    many = study.related["many"]
    assert many.truth is not None
    quality = many.truth["outputs"].set_index("output_id")["quality"]
    clear = np.subtract.outer(truth.to_numpy(), truth.to_numpy()) > CLEAR
    rows = []
    for accuracy, n_games in product((0.6, 0.8, 1.0), (20, 200, 2_000)):
        met = system_pairs(many.outputs, n_per_pair=n_games, seed=seed)
        compared = with_tables(many, comparisons=true_comparisons(met, quality, accuracy=accuracy))
        rated = rate(compared, method="glicko2", outcome="sampled", tie_ratio=tie_ratio, seed=seed)
        rating = rated.systems.set_index("system")["estimate"].loc[truth.index]
        apart = np.subtract.outer(rating.to_numpy(), rating.to_numpy())
        rows.append(
            {
                "accuracy": accuracy,
                "games of two systems": n_games,
                "clear pairs": int(clear.sum()),
                "in true order": (apart[clear] > 0).mean(),
                "spearman": rating.corr(truth, method="spearman"),
            }
        )
    return pd.DataFrame(rows)


@checked
def true_checkpoints(
    study: Study,
    pairs: pd.DataFrame,
    *,
    backend: Backend = "tfidf",
    encoder: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether weak supervision from one model orders the checkpoints of another.

    `study` is from `nlgbench.worlds.comparing.compared_reviews`, and `pairs`, some of them weak,
    from `nlgbench.supervise`.

    Returns
    -------
    DataFrame
        A row per checkpoint: system, model, progress, rating, true quality (mean, nats per token).
    """
    from nlgbench.generators.checkpoints import train_checkpoints

    assert study.related is not None
    human = study.related["human_again"].outputs
    size = {"n": 150, "units": 64}
    written, _ = train_checkpoints(human, human[:1], model="other", **size, seed=seed + 2)
    unseen = written[~written["text"].isin([*pairs["text_a"], *pairs["text_b"]])]
    test = from_tables(unseen.reset_index(drop=True))
    result = trial(pairs, test, "weak alone", backend=backend, encoder=encoder, seed=seed)
    rated = result.systems.set_index("system")["score"]
    steps = written[["system", "model", "progress"]].drop_duplicates().set_index("system")
    steps = steps.assign(rating=rated)
    texts = written.groupby("system")["text"]
    steps["true quality"] = texts.agg(lambda rows: true_quality(rows.tolist()).mean())
    return steps.reset_index()
