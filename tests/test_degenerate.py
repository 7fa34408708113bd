"""Every public analysis on degenerate studies: no crash, no number or interval without its cause.

A study lists the statuses that its defect may cause, an analysis those of every small study.
"""

import functools
import string
import warnings

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.analysis.planning import plans
from nlgbench.analysis.ratings import rating
from nlgbench.evaluators.listeners.listeners import Listener
from nlgbench.status import REASONS, Unsupported

QUALITY = {"s2": 0.2, "s1": 0.9, "s3": 0.5, "human": 1.5}


@functools.cache
def ordinary_tables(n_systems, n_items, n_annotators):
    rng = np.random.default_rng(1)
    systems = [*list(QUALITY)[:n_systems], "human"]
    outputs = pd.DataFrame([(s, f"i{k}") for k in range(n_items) for s in systems])
    outputs = outputs.set_axis(["system", "item_id"], axis=1)
    outputs.insert(0, "output_id", outputs["item_id"] + outputs["system"])
    words = ["the", "a", "red", "old", "new", "cat", "dog", "sees", "likes", "house", "tree"]
    outputs["text"] = [" ".join(rng.choice(words, 8)) for _ in outputs["system"]]
    people = pd.DataFrame({"annotator_id": [f"w{k}" for k in range(n_annotators)]})
    quality = outputs.set_index("output_id")["system"].map(QUALITY)
    quality += rng.normal(0, 0.5, len(quality))
    judgments = outputs[["output_id"]].merge(people, how="cross").assign(dimension="quality")
    value = 2.5 + quality[judgments["output_id"]].to_numpy() + rng.normal(0, 1, len(judgments))
    judgments["value"] = value.round().clip(1, 5)
    real = judgments.assign(dimension="real", value=(judgments["value"] > 3) * 1.0)
    sides = [(a, b) for a in range(n_systems) for b in range(a + 1, n_systems)]
    ids = outputs["output_id"].to_numpy().reshape(n_items, -1)
    pairs = [row[list(pair)][:: rng.choice([1, -1])] for row in ids for pair in sides]
    pairs = pd.DataFrame(pairs, columns=["output_a", "output_b"])
    votes = pairs.merge(people.iloc[:3], how="cross")
    both = pd.concat([pairs, pairs.set_axis(["output_b", "output_a"], axis=1)])

    def lead(rows):
        gap = quality[rows["output_a"]].to_numpy() - quality[rows["output_b"]].to_numpy()
        return gap + rng.normal(0, 1, len(rows))

    gap = lead(votes)
    votes["choice"] = np.where(abs(gap) < 0.3, "tie", np.where(gap > 0, "a", "b"))
    both = both.assign(comparator="judge", prob_a=0.5 + 0.4 * np.tanh(lead(both)), prob_tie=0.0)
    scores = pd.DataFrame({"e1": quality + rng.normal(0, 0.5, len(quality))})
    scores["svm_meta@natural"] = 1 / (1 + np.exp(rng.normal(0, 1, len(quality)) - quality))
    models = outputs.merge(pd.DataFrame({"model": systems[:-1]}), how="cross")
    models = models[(models["system"] == "human") | (models["system"] == models["model"])]
    contexts = [
        (f"i{k}", state, state == "1", rng.normal()) for k in range(n_items) for state in "12"
    ]
    return {
        "outputs": outputs,
        "judgments": pd.concat([judgments, real], ignore_index=True),
        "preferences": votes,
        "comparisons": both.assign(prob_b=1 - both["prob_a"]),
        "scores": scores.reset_index().melt("output_id", var_name="evaluator", value_name="score"),
        "logprobs": models[["output_id", "model"]].assign(
            logprob=-rng.gamma(9, 3, len(models)), n_tokens=8
        ),
        "contexts": pd.DataFrame(contexts, columns=["item_id", "state", "is_target", "hue"]),
    }


def make_study(n_systems=3, n_items=12, n_annotators=10, settings=(), **changes):
    """Make an ordinary study. Functions change some of its tables; None leaves one out."""
    tables = dict(ordinary_tables(n_systems, n_items, n_annotators))
    for name, change in changes.items():
        table = "outputs" if name == "texts" else name
        tables[table] = change(tables[table]) if change else None
    for name in tables if changes.get("outputs") else ():  # rows of outputs that were removed
        table = tables[name]
        for column in {"output_id", "output_a", "output_b"} & set(table):
            table = table[table[column].isin(tables["outputs"]["output_id"])]
        tables[name] = table
    if changes.get("outputs"):
        known = tables["contexts"]["item_id"].isin(tables["outputs"]["item_id"])
        tables["contexts"] = tables["contexts"][known]
    if tables["judgments"] is not None and len(tables["judgments"]):
        scales = {"quality": {"min": 0, "max": 5}}
        settings = {"quality": "quality", "scales": scales} | dict(settings)
    return nb.Study(**tables, settings=dict(settings))


def put(**columns):
    """Replace columns by values, or by functions of the table."""
    return lambda table: table.assign(**columns)


def mask(column, value, system):
    """Replace a column's values in the rows of a system."""
    rows = f"{system}$"
    return lambda t: t.assign(**{column: t[column].mask(t["output_id"].str.contains(rows), value)})


def keep(pattern):
    """Keep the outputs whose ids match."""
    return lambda table: table[table["output_id"].str.fullmatch(pattern)]


def first(*keys):
    """Keep the first row of each combination of keys; without keys, the first row."""
    return lambda table: table.drop_duplicates([*keys]) if keys else table.head(1)


def times(unit):
    """Multiply judgments and scores."""
    judgments, scores = (put(**{c: lambda t, c=c: t[c] * unit}) for c in ("value", "score"))
    return {"judgments": judgments, "scores": scores, "settings": {"scales": {}}}


def item_of(table):
    """Return the number of the item of each row."""
    return table["output_id"].str.extract(r"i(\d+)")[0]


def beaten(table, **values):
    """Let s1 win all its games: a column's values if it is shown first, or second."""
    sides = [table[f"output_{side}"].str.endswith("s1") for side in "ab"]
    return table.assign(**{name: np.select(sides, v, table[name]) for name, v in values.items()})


def add_idle(games):
    """Add a judge that compares a system only with itself."""
    sides = {"output_a": "i0s1", "output_b": "i1s1", "comparator": "idle"}
    return pd.concat([games, games.head(1).assign(**sides)])


def of_system(table):
    """Return a value that differs between systems only."""
    return table["output_id"].str[-1].map({"1": 3.0, "2": 1.0, "3": 2.0, "n": 4.0})


NONE = dict.fromkeys(["judgments", "preferences", "comparisons", "scores", "logprobs", "contexts"])
TIE, PAIR = {"prob_a": 0.0, "prob_tie": 1.0, "prob_b": 0.0}, ["output_a", "output_b"]
POSITIONS = {"annotators": "positions"}
DOCUMENTS = {"clusters": "document", "extra": ["document"]}
HALVES = r"i[0-5](s1|s2|human)|i([6-9]|1.)(s3|human)"
#: Study -> changes of the ordinary one.
STUDIES = {
    "ordinary": {},
    "constant judgments": {"judgments": put(value=1.0)},
    "constant scores": {"scores": put(score=0.5)},
    "constant system": {"judgments": mask("value", 1.0, "s1")},
    "constant systems": {"judgments": put(value=of_system)},
    "constant annotators": {"judgments": put(value=lambda t: (t["annotator_id"] > "w4") * 1.0)},
    "values of 1e12": times(1e12),
    "scores are judgments": {"judgments": put(value=of_system), "scores": put(score=of_system)},
    "equal evaluators": {
        "scores": lambda t: t.assign(score=t.groupby("output_id")["score"].transform("max"))
    },
    "no score defined": {"scores": put(score=np.nan)},
    "system without scores": {"scores": lambda t: t[~t["output_id"].str.endswith("s1")]},
    "infinite logprobs": {"logprobs": put(logprob=-np.inf)},
    "constant logprobs": {"logprobs": put(logprob=-1.0)},
    "system without text": {"texts": mask("text", "", "s1")},
    "no texts": {"texts": put(text="")},
    "identical texts": {"texts": put(text="the same words")},
    "one system": {"n_systems": 1},
    "two systems": {"n_systems": 2},
    "one item": {"n_items": 1},
    "one annotator": {"n_annotators": 1},
    "judged once": {"judgments": first("output_id", "dimension")},
    "judging once": {"judgments": put(annotator_id=lambda t: t.index.astype(str)), "n_items": 3},
    "item per annotator": {"judgments": lambda t: t[item_of(t) == t["annotator_id"].str[1:]]},
    "one judgment": {"judgments": first("dimension")},
    "positions": {"settings": POSITIONS, "judgments": put(), "preferences": put()},
    "one cluster": {"outputs": put(document="d"), "settings": DOCUMENTS},
    "system per item": {"outputs": lambda t: t[item_of(t).astype(int) % 4 == t.index % 4]},
    "disconnected": {"outputs": keep(HALVES)},
    "no human": {"outputs": keep(".*s.")},
    "only human": {"outputs": keep(".*human")},
    "outputs only": NONE,
    "scores only": dict.fromkeys(NONE.keys() - {"scores"}),
    "no rows": {name: lambda t: t.head(0) for name in NONE},
    "ties": {"preferences": put(choice="tie"), "comparisons": put(**TIE)},
    "few decided": {"preferences": put(choice=lambda t: t["choice"].where(t.index < 4, "tie"))},
    "sure of ties": {"comparisons": put(prob_a=0.1, prob_tie=0.9, prob_b=0.0)},
    "even chances": {"comparisons": put(prob_a=0.5, prob_b=0.5)},
    "separated votes": {"preferences": lambda t: beaten(t, choice=("a", "b"))},
    "separated": {"comparisons": lambda t: beaten(t, prob_a=(1.0, 0.0), prob_b=(0.0, 1.0))},
    "one vote per pair": {"preferences": first(*PAIR)},
    "one game": {"preferences": first(), "comparisons": first()},
    "one order": {"comparisons": lambda t: t[t["output_a"] < t["output_b"]]},
    "own games": {"outputs": lambda t: t.replace({"system": {"s3": "s2", "s1": "s2"}})},
    "idle judge": {"comparisons": add_idle},
}
FLAT = "constant few_studies no_variation nothing_to_compare"
FEW = (
    "few_blocks few_clusters few_items few_labels few_scored few_studies few_units "
    "no_variation nothing_to_compare one_cluster perfect_without_one too_few_systems "
    "unbalanced undefined_resamples undefined_subsamples undefined_without_one"
)
UNIT = (
    "few_studies lone_cluster one_cluster one_item one_shared_item one_unit this_item "
    "undefined_subsamples"
)
ANNOTATOR = (
    "confounded few_blocks few_decisive no_variation nothing_to_compare one_annotator "
    "one_level too_few_annotators unbalanced"
)
#: Study -> the statuses that its changes may cause, and after a slash those of errors.
EXPECTED = f"""
constant judgments: {FLAT} constant_systems / no_variation
constant scores: {FLAT}
constant system: constant_resamples few_systems no_variation nothing_to_compare too_few_systems
constant systems: {FLAT} constant_resamples constant_systems too_few_systems / no_votes
  no_variation
constant annotators: {FLAT} below_start / no_variation
values of 1e12: / no_scale no_votes
scores are judgments: {FLAT} constant_resamples constant_systems no_z perfect too_few_systems /
  no_votes no_variation
equal evaluators: no_variation
no score defined: few_scored nothing_to_compare unlabeled / no_scores
system without scores: two_systems unlabeled unscored_systems
infinite logprobs: / no_logprobs
constant logprobs: / no_variation
system without text: constant_resamples undefined_subsamples
no texts: no_length no_lengths no_variation undefined_subsamples / no_texts
identical texts: constant_resamples no_lengths no_variation
one system: few_labels few_scored one_system / no_comparisons no_votes one_system
two systems: no_variation nothing_to_compare two_systems undefined_without_one
one item: {FEW} {UNIT} confounded few_decisive few_neighbors one_level one_vote_each separated
  too_few_annotators / few_outputs
one annotator: {ANNOTATOR} one_vote one_vote_each / one_annotator
judged once: {ANNOTATOR} / one_annotator
judging once: {FEW} confounded one_judgment separated / disconnected few_outputs no_variation
item per annotator: confounded no_variation nothing_to_compare separate_annotators unbalanced /
  no_judgments one_annotator
one judgment: constant few_labels few_studies no_labels nothing_to_compare one_cluster one_system
  / no_judgments one_annotator one_system
positions: positions
one cluster: {UNIT}
system per item: {FEW} confounded constant few_texts / disconnected few_outputs no_comparisons
  no_shared_items no_votes
disconnected: {FEW} few_texts no_labels / disconnected few_outputs
no human: nothing_to_compare / no_human one_class
only human: few_scored nothing_to_compare / no_comparisons no_judgments no_outputs no_scores
  no_votes one_class one_system
outputs only: / no_comparisons no_contexts no_judgments no_scores no_votes
scores only: / no_comparisons no_contexts no_judgments no_votes
no rows: / no_comparisons no_contexts no_judgments no_scores no_votes
ties: alike all_ties no_variation nothing_to_compare tied_votes / many_ties
few decided: alike no_variation nothing_to_compare separated undefined_without_one / many_ties
sure of ties: alike all_ties no_variation nothing_to_compare
even chances: alike all_ties no_variation nothing_to_compare
separated votes: alike no_variation nothing_to_compare separated
separated: alike no_variation nothing_to_compare separated
one vote per pair: nothing_to_compare one_vote one_vote_each
one game: few_blocks no_lengths no_orders no_variation nothing_to_compare one_cluster one_order
  one_unit one_vote one_vote_each separated
one order: no_orders one_order
own games: no_own_pairs one_system same_system / no_logprobs one_system
idle judge: no_author no_orders no_votes nothing_to_compare one_order same_system
"""


class Guess(Listener):
    """A listener that is sure of one state after texts of odd length."""

    def predict_proba(self, contexts, captions):
        return np.array([[1.0, 0.0] if len(text) % 2 else [0.3, 0.7] for text in captions])


DRAWN = {"n_resamples": 20, "seed": 0}
FEW_DRAWN = {"n_permutations": 9, "n_resamples": 9, "n_neighbors": 2}


def correlate_and_pool(study):
    statistics = ["pearson", "spearman", "kendall_b", "pairwise_accuracy"]
    table = nb.correlate(study, granularity="output", statistics=statistics, **DRAWN)
    studies = pd.concat([table.assign(study=name) for name in "abcdef"])
    return table, nb.pool_correlations(studies[studies["statistic"] != "pairwise_accuracy"])


def compare_texts_and_trends(study):
    measures = ["mmd_linear", "precision", "vendi", "frontier"]
    table = nb.compare_distributions(study, measures=measures, **FEW_DRAWN)
    truth = pd.DataFrame({"system": study.systems}).assign(l_star=range(len(study.systems)))
    return table, nb.measure_trends(table, truth, against=["l_star"]) if len(truth) > 2 else ()


def plan(study):
    components = nb.variance_components(study)
    return components, nb.plan_study(components, **PLAN)


def of_s1(function, **options):
    """Analyze the system that most changes concern, if it is there."""
    return lambda s: function(s, systems="s1" if "s1" in s.systems else None, **options)


def first_system(function, **options):
    return lambda s: function(s, system=next(iter(s.systems), None), n_neighbors=3, **options)


VOTES, GAMES, OUTPUT = {"of": "preferences"}, {"of": "comparisons"}, {"granularity": "output"}
PLAN = {"difference": 0.2, "n_items": [50], "n_annotators": [20]}
RANDOM = {"annotators": "random", "scale": "z", "include_human": True}
#: Analysis -> the tables that it reads (with outputs), the function, and its arguments.
ANALYSES = {
    "agreement": ("judgments", nb.agreement, {}),
    "compare_systems": ("judgments", nb.compare_systems, {"margin": 0.3}),
    "compare_systems z": ("judgments", nb.compare_systems, RANDOM),
    "accuracy": ("judgments", nb.accuracy, {"dimension": "real"}),
    "rate votes": ("preferences", nb.rate, VOTES),
    "rate": ("comparisons", nb.rate, GAMES),
    "rate elo": ("comparisons", nb.rate, GAMES | {"method": "elo"}),
    "rate glicko2": ("comparisons", nb.rate, GAMES | {"method": "glicko2"}),
    "win_rates votes": ("preferences", nb.win_rates, VOTES),
    "win_rates": ("comparisons", nb.win_rates, GAMES),
    "order_stability": ("comparisons", nb.order_stability, GAMES),
    "convergence": ("comparisons", nb.convergence, GAMES),
    "vote_agreement": ("preferences", nb.vote_agreement, {}),
    "vote_accuracy": ("preferences comparisons scores", nb.vote_accuracy, {}),
    "compare_systems scores": ("scores", nb.compare_systems, {"evaluator": "e1"}),
    "correlate systems": ("scores judgments", nb.correlate, DRAWN | {"resample": "systems"}),
    "correlate both": ("scores judgments", nb.correlate, DRAWN | {"resample": "both"}),
    "correlate": ("scores judgments", nb.correlate, DRAWN),
    "correlate by item": ("scores judgments", nb.correlate, DRAWN | {"granularity": "item"}),
    "correlate outputs": ("scores judgments", correlate_and_pool, {}),
    "compare_evaluators": ("scores judgments", nb.compare_evaluators, DRAWN),
    "compare_evaluators outputs": ("scores judgments", nb.compare_evaluators, DRAWN | OUTPUT),
    "disagreements": (
        "scores",
        nb.disagreements,
        {"evaluator_a": "e1", "evaluator_b": "svm_meta@natural"},
    ),
    "corrected_quality": (
        "scores judgments",
        nb.corrected_quality,
        {"evaluator": "e1", "sampling": "random"},
    ),
    "replaces_annotators": (
        *("scores judgments", nb.replaces_annotators, {"epsilon": 0.1, "agreement": "rmse"}),
    ),
    "audit": ("texts comparisons preferences", nb.audit, {"authors": {"judge": "s2"}}),
    "plan_study": ("judgments", plan, {}),
    "plan_study votes": ("preferences", nb.plan_study, PLAN | {"question": "preferences"}),
    "sequential votes": ("preferences", nb.sequential, {"block": "item"}),
    "sequential": (
        *("judgments", lambda s: nb.sequential(s.replace(preferences=None), block="annotator"), {}),
    ),
    "compare_distributions": ("texts", compare_texts_and_trends, {}),
    "huse": ("judgments logprobs", nb.huse, DRAWN | {"n_neighbors": 3}),
    "permutation_test": (
        *("judgments logprobs", nb.permutation_test, {"n_neighbors": 3, "n_permutations": 20}),
    ),
    "stability": ("judgments logprobs", of_s1(nb.stability, n_resamples=5), {}),
    "boundary": ("judgments logprobs", first_system(nb.boundary, n_grid=9), {}),
    "failures": ("texts judgments logprobs", first_system(nb.failures), {}),
    "multiverse": ("judgments logprobs", of_s1(nb.multiverse, n_neighbors=[3]), {}),
    "diversity": ("texts", nb.diversity, DRAWN),
    "discriminator_accuracy": ("scores judgments", nb.discriminator_accuracy, {}),
    "calibration": ("texts contexts", nb.calibration, {"listeners": Guess()}),
}
#: Analysis -> its statuses in every small study.
USUAL = """
compare_systems: unknown_unit
rate elo: no_interval
compare_systems scores: skewed
correlate systems: too_few_systems
correlate both: low_reliability too_few_systems
correlate: few_systems low_reliability one_sided
compare_evaluators: few_swaps
corrected_quality: biased
replaces_annotators: other_scale
audit: no_probabilities no_variation sentinel separated weak_votes
plan_study: few_levels no_power small_share zero_variance
plan_study votes: no_power
compare_distributions: few_complete few_permutations too_few_texts
huse: few_values
stability: constant_resamples one_subsample
diversity: constant_resamples
calibration: biased_upward
"""
#: Columns with estimates, the one of a table first.
ESTIMATES = ("cv_star", "rating", "mean", "power", "estimate")
SHARES = ("p", "p_adjusted", "superiority", "power", "p_value")
ENDS = [("lower", "upper")]
ENDS += [(f"{name}_low", f"{name}_high") for name in ("ci", "inner", "superiority", "tau", "i2")]
#: Tables of points in figures: the statuses are in the tables that they are drawn from.
POINTS = ("path", "bins", "curve")
#: The fixed parts of each status's text.
PARTS = {
    code: [part[0] for part in string.Formatter().parse(text) if part[0]]
    for code, text in REASONS.items()
}


def tables_of(result, name=""):
    """List the tables of a result, except those of points."""
    if isinstance(result, tuple):
        return [table for part in result for table in tables_of(part)]
    parts = {name: result} if isinstance(result, pd.DataFrame) else vars(result)
    return [
        part
        for name, part in parts.items()
        if isinstance(part, pd.DataFrame) and name not in POINTS
    ]


def faults(table, statuses):
    """List what is wrong with a table whose statuses may be these."""
    numbers = table.select_dtypes("number")
    found = [f"{name} is infinite" for name in numbers if np.isinf(numbers[name]).any()]
    reach = 2 if "evaluator_b" in table else 1  # of differences between correlations
    shares = (
        dict.fromkeys(SHARES, (0, 1)) | {"estimate": (-reach, reach)}
        if "statistic" in table
        else {}
    )
    for name, (low, high) in shares.items():
        if name in numbers and not numbers[name].dropna().between(low, high).all():
            found.append(f"{name} is beyond {low} to {high}")
    for low, high in [ends for ends in ENDS if ends[0] in table]:
        width = table[high] - table[low]
        if (width <= 1e-12 * table[[low, high]].abs().max(axis=1)).any():
            found.append(f"{low} and {high} have no width")
        if (table[low].isna() != table[high].isna()).any():
            found.append(f"one of {low} and {high} is missing")
    if not {"estimate", "ci_low", "status"} & set(table):
        return found
    if not {"status", "reason"} <= set(table):
        return [*found, "no status"]
    ok, estimate = table["status"] == "ok", next(name for name in ESTIMATES if name in table)
    if (ok != (table["reason"] == "")).any():
        found.append("ok has a reason, or another status has none")
    for name in {estimate, "ci_low"} & set(table) if estimate != "cv_star" else {estimate}:
        if table.loc[ok, name].isna().any():
            found.append(f"{name} is missing, but ok")
    for code, reason in {*zip(table["status"], table["reason"], strict=True)}:
        if code not in PARTS or not all(part in reason for part in PARTS[code]):
            found.append(f"{code} is unknown, or not the text {reason!r}")
        elif code not in statuses:
            found.append(f"{code} is not expected: {reason}")
    return found


def read_codes(text, name):
    """Return the codes in the line of a name, before and after a slash."""
    lines = dict(line.split(":") for line in text.replace("\n  ", " ").strip().splitlines())
    before, _, after = lines.get(name, "").partition("/")
    return before.split(), after.split()


@pytest.mark.parametrize("name", STUDIES)
def test_no_number_is_missing_without_its_cause(name, monkeypatch):
    monkeypatch.setattr(rating, "N_ORDERS", 2)
    monkeypatch.setattr(rating, "tournament", functools.partial(rating.tournament, max_games=30))
    monkeypatch.setattr(plans, "_ITEMS", np.array([50.0]))
    monkeypatch.setattr(plans, "_PEOPLE", np.array([20.0]))
    changes, found = STUDIES[name], []
    statuses, errors = read_codes(EXPECTED, name)
    study = make_study(**changes)
    for analysis, (tables, function, arguments) in ANALYSES.items():
        if changes and set(changes) <= {*NONE, "texts", "settings"} - set(tables.split()):
            continue  # it reads no table that differs from those of the ordinary study
        allowed = ["ok", *statuses, *read_codes(USUAL, analysis)[0]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                results = tables_of(function(study, **arguments))
            except Unsupported as error:
                found += [(analysis, error.status, str(error))] * (error.status not in errors)
            except Exception as error:
                found.append((analysis, repr(error)))
            else:
                found += [(analysis, one) for table in results for one in faults(table, allowed)]
    assert not found
