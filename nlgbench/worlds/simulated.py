"""Worlds by name, and the choice between a simulated, a released and one's own study."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from nlgbench.datasets.public import load
from nlgbench.names import known
from nlgbench.study import Study, read_study, straight_from
from nlgbench.study.checks import checked
from nlgbench.worlds import (
    colors,
    crowd,
    gaussian,
    judges,
    judgments,
    reviews,
    votes,
)

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

#: Public study -> the world that is laid out as it is.
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
    """Simulate a study whose truth is known.

    Parameters
    ----------
    name : {"reviews", "crowd", "colors", "gaussian", "judgments", "votes", "own", "judges"}
        ``reviews``: short product reviews whose every probability is known, rated by annotators.
        ``crowd``: such reviews taken for real or fake, laid out as Judge the Judges.
        ``colors``: captions of colors, their listeners, and rounds to learn from.
        ``gaussian``: two Gaussian classes, whose HUSE is known in closed form.
        ``judgments``: judgments of systems by annotators who differ in severity and in taste.
        ``votes``: votes on pairs of outputs, whose every chance is known.
        ``own``: judgments, votes and evaluators' scores of the same outputs.
        ``judges``: human votes and judgments, and machine judges whose biases are known.
    seed : int or Generator
        Where the random numbers come from.
    n_truth : int
        Texts of each class from which the truth of reviews and crowd is computed; 0 leaves it out.
    **world
        ``systems`` (their names, or what they do), ``means``, ``n_items``, ``n_outputs``,
        ``n_annotators``, ``n_votes`` and others, as the world's function in `nlgbench.worlds` takes
        them. ``systems`` of reviews may be a function that makes them from the seed.

    Returns
    -------
    Study
        Of source ``simulated``, with what is known in ``truth``, such as a row per system in
        ``truth["systems"]``.

    Raises
    ------
    ValueError
        For an unknown world or parameter, or a number that is too small.

    Examples
    --------
    >>> study = simulate("gaussian", seed=0)
    >>> study.truth["systems"].round(2)
      system  huse  huse_q  huse_d
    0   t1.0  0.53    0.57    0.96
    1   t0.7  0.48    0.85    0.63
    2   t0.5  0.24    0.94    0.30
    """
    known(name, list(_WORLDS), "world")
    if name in ("reviews", "crowd"):
        world["n_truth"] = n_truth
    if callable(world.get("systems")):
        world["systems"] = world["systems"](seed)
    shown = f" seed={seed}" if isinstance(seed, int) else ""
    return straight_from(_WORLDS[name](seed=seed, **world), f"simulated:{name}{shown}")


@checked
def open_study(
    name: str,
    *,
    source: Literal["simulated", "released"] = "simulated",
    folder: str | os.PathLike | None = None,
    **world: Any,
) -> Study:
    """Open a study, whatever it is made of: the first line of every notebook.

    Parameters
    ----------
    name : str
        A public study (`nlgbench.studies`).
    source : {"simulated", "released"}
        ``released`` loads it; ``simulated`` simulates the world that is laid out as it is.
    folder : path, optional
        A folder of one's own tables instead; `world` is then not looked at.
    **world
        What `simulate` takes.

    Returns
    -------
    Study
        As `load`, `simulate` or `read_study` give it.

    Raises
    ------
    ValueError
        For an unknown name or source, or when both `folder` and released data are asked for.

    Examples
    --------
    >>> open_study("huse", systems=["grammar_t0.5"], n_outputs=5, n_truth=0, seed=0)
    <Study 'reviews' (simulated): 10 outputs of 2 systems, judgments, logprobs>
    """
    if folder is not None:
        if source == "released":
            raise ValueError(
                f"source='released' and the folder {os.fspath(folder)!r} are two studies: leave "
                "one out."
            )
        return read_study(folder)
    if source == "released":
        return load(name)
    return simulate(_AS[known(name, list(_AS), "study")], **world)
