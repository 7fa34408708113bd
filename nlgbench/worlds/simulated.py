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
    labels,
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
    "labels": labels.label_world,
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
    name : {"reviews", "crowd", "colors", "gaussian", "judgments", "votes", "own", "judges",
        "labels"}
        ``reviews``: short product reviews whose every probability is known, rated by annotators.
        ``crowd``: such reviews taken for real or fake, laid out as Judge the Judges.
        ``colors``: captions of colors, their listeners, and rounds to learn from.
        ``gaussian``: two Gaussian classes, whose HUSE is known in closed form.
        ``judgments``: judgments of systems by annotators who differ in severity and in taste.
        ``votes``: votes of people on pairs of outputs, whose every chance is known.
        ``own``: judgments, votes and evaluators' scores of the same outputs.
        ``judges``: people's votes and judgments, and machine judges whose biases are known.
        ``labels``: votes on the class of outputs, by annotators whose accuracy is known.
    seed : int or Generator
        Where the random numbers come from.
    n_truth : int
        Texts of each class from which the truth of reviews and crowd is computed; 0 leaves it out.
    **world
        ``reviews``: systems (names of `nlgbench.generators.review_systems.REVIEW_SYSTEMS`, a
        mapping of name to system, or a function that gives one of the seed), n_outputs (of each
        class, 100), n_annotators (20), dimensions (("typicality",); "real_or_fake"). ``crowd``:
        systems, n_outputs (of each system, 150), n_votes (of an output, 5), per_hit (outputs of a
        HIT, 20). ``colors``: n_contexts (120), n_listeners (3), lapse (how often a listener picks
        blindly, .1), n_rounds (rounds of ``train``, ``dev``, ``test`` to learn from). ``gaussian``:
        systems (name -> shifts of quality and likelihood), n_outputs (100), n_annotators (20),
        shared_by_item (0). ``judgments``: means (of the systems), n_items (100), n_annotators (20),
        n_votes (of an output, 3), design ("crossed", "scattered", "distinct"), scale
        ("continuous", "ordinal"), missing (share of judgments, 0). ``votes``: systems (name ->
        ability in nats), n_items (100), n_annotators (20), n_pairs (of an item, 3), n_votes (of a
        pair, 3), nu (Davidson's, of ties, .7), of_items, of_taste (standard deviations of how well
        a system does on an item, .6, and of an annotator's taste for a system, .3), of_first (what
        being first adds, 0), careless (share of annotators who choose blindly, .1). ``own``: what
        ``judgments`` takes, n_pairs (of an item that are voted on, 2), errors (evaluator ->
        standard deviation of its error, where an output's own quality has 1). ``judges``: means (of
        the systems, in nats), n_items (100), n_annotators (20), n_pairs (of an item, voted on and
        compared in both orders, 3), n_votes (of a pair, 3), n_judgments (of an output that is
        judged, 3), judged (share of outputs that people judge, drawn at random, 1), people_length
        (what a text twice as long gains with people, in nats, .4), judges (name -> any of error,
        noise, first, length, own, stretch; the first wrote the first system, and so on).
        ``labels``: systems (name -> chances of its outputs' classes), n_items (100), n_annotators
        (30), n_votes (of an output, 5), per_hit (outputs that the same annotators judge, who judge
        no other; 0: none), accuracy (between which careful annotators' lies, (.6, .95)), spammers
        (share of annotators who look at no output, .2), misleading (share of outputs that show
        everybody the same wrong class, 0).

    Returns
    -------
    Study
        Of source ``simulated``. ``truth["systems"]`` has a row per system (reviews, crowd,
        gaussian, judgments, votes, own, judges, labels), ``truth["pairs"]`` one per two systems
        (votes: the chances, as `rate` takes games), ``truth["states"]`` one per output and state
        (colors), whose rounds are ``related``, ``truth["outputs"]`` and ``truth["annotators"]`` one
        per output and annotator (labels).

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
