"""Simulate studies by name, and open simulated studies, released ones or your own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from nlgbench.datasets.public import load, open_named
from nlgbench.names import known
from nlgbench.study import Study, with_tables
from nlgbench.study.checks import checked
from nlgbench.worlds import colors, crowd, gaussian, judges, judgments, reviews, votes

_WORLDS: dict[str, Callable[..., Study]] = {
    "reviews": reviews.review_world,
    "crowd": crowd.review_crowd,
    "colors": colors.color_world,
    "gaussian": gaussian.gaussian_world,
    "judgments": judgments.judgment_world,
    "votes": votes.vote_world,
    "own": judgments.own_world,
    "judges": judges.judge_world,
}

#: Public study -> the simulated world with the same layout.
_AS = {
    "huse": "reviews",
    "dailydialog": "reviews",
    "usr-topical-chat": "reviews",
    "usr-persona-chat": "reviews",
    "comm-eval": "colors",
    "judge-the-judges": "crowd",
    "webnlg-2020": "own",
    "alttest-cebab_stars": "judges",
    "llmbar-natural": "judges",
}


@checked
def simulate(
    name: str, *, seed: int | np.random.Generator = 0, n_truth: int = 4_000, **world: Any
) -> Study:
    """Simulate a study with known truth.

    Parameters
    ----------
    name : {"reviews", "crowd", "colors", "gaussian", "judgments", "votes", "own", "judges"}
        ``reviews``: short product reviews with known probabilities, rated by annotators.
        ``crowd``: such reviews with votes (real or fake), in the layout of Judge the Judges.
        ``colors``: captions of colors, judgments by listeners, and rounds for training.
        ``gaussian``: two Gaussian classes, with HUSE in closed form.
        ``judgments``: judgments of systems by annotators who differ in severity and taste.
        ``votes``: votes on pairs of outputs, with known probabilities.
        ``own``: judgments, votes and evaluators' scores of the same outputs.
        ``judges``: human votes and judgments, and machine judges with known biases.
    seed : int or Generator
        Seed of all random numbers.
    n_truth : int
        Texts per class for computing the truth of ``reviews`` and ``crowd``; 0 omits the truth.
    **world
        ``systems`` (names, or their properties), ``means``, ``n_items``, ``n_outputs``,
        ``n_annotators``, ``n_votes`` and others: the parameters of the world's function in
        `nlgbench.worlds`. For ``reviews``, ``systems`` may be a function from seed to systems.

    Returns
    -------
    Study
        The study, with source ``simulated`` and tables in ``truth``, such as ``truth["systems"]``,
        which has a row per system.

    Raises
    ------
    ValueError
        If a world is unknown, or a number is too small.

    Examples
    --------
    >>> study = simulate("gaussian", seed=0)
    >>> study.truth["systems"].set_index("system")["huse"].round(2).to_dict()
    {'t1.0': 0.53, 't0.7': 0.48, 't0.5': 0.24}
    """
    known(name, list(_WORLDS), "world")
    if name in ("reviews", "crowd"):
        world["n_truth"] = n_truth
    if callable(world.get("systems")):
        world["systems"] = world["systems"](seed)
    suffix = f" seed={seed}" if isinstance(seed, int) else ""
    study = _WORLDS[name](seed=seed, **world)
    if name in ("judgments", "votes", "own", "judges"):
        study = _sort_outputs(study)
    return with_tables(study, origin=f"simulated:{name}{suffix}", pristine=True)


def _sort_outputs(study: Study) -> Study:
    """Sort tables by output: a world draws outputs in the order of its systems' quality."""
    tables = {name: getattr(study, name) for name in ("outputs", "judgments", "scores")}
    truth = dict(study.truth or {})
    for collection in (tables, truth):
        for name, table in collection.items():
            if table is not None and "output_id" in table:
                collection[name] = table.sort_values("output_id", kind="stable", ignore_index=True)
    return with_tables(study, **tables, truth=truth)


@checked
def open_study(
    name: str,
    *,
    source: Literal["simulated", "released"] = "simulated",
    folder: str | os.PathLike | None = None,
    **world: Any,
) -> Study:
    """Open a simulated study, a released study, or your own.

    Parameters
    ----------
    name : str
        The name of a public study (see `nlgbench.studies`).
    source : {"simulated", "released"}
        ``released`` loads the study; ``simulated`` simulates a study with the same layout.
    folder : path or str, optional
        A folder of your own tables, or the name of another public study, to open instead; `name`
        and `world` are then ignored.
    **world
        Parameters of `simulate`.

    Returns
    -------
    Study
        The result of `load`, `simulate` or `read_study`.

    Raises
    ------
    ValueError
        If a name or source is unknown, or you set both `folder` and ``source="released"``.

    Examples
    --------
    >>> open_study("huse", systems=["grammar_t0.5"], n_outputs=5, n_truth=0, seed=0)
    Study 'reviews' (simulated)
      10 outputs of 1 system and human texts, 5 items
      200 judgments of typicality (0 to 5) by 20 annotators, 2 systems, 5 items
      10 log-probabilities under grammar_t0.5
    """
    if folder is not None:
        if source == "released":
            raise ValueError(
                f"source='released' and the folder {os.fspath(folder)!r} are two studies. Choose "
                "one of them."
            )
        study = open_named(folder)
        # Papers' claims are about the notebook's own study.
        return study if os.fspath(folder) == name else with_tables(study)
    if source == "released":
        return load(name)
    return simulate(_AS[known(name, list(_AS), "study")], **world)
