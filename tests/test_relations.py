"""Results do not depend on names, on the order of rows, or on which output a pair lists first."""

import re
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.evaluators.score import add_sentinels
from nlgbench.runner.facts import Facts
from nlgbench.runner.findings import atlas_findings, findings, judge_findings, planning_findings
from nlgbench.study.schema import TABLES
from nlgbench.study.study import part_of, with_tables

#: What is renamed -> its columns, in all tables.
NAMED = {
    "systems": ("system", "model"),
    "items": ("item_id",),
    "outputs": ("output_id", "output_a", "output_b"),
    "annotators": ("annotator_id",),
    "evaluators": ("evaluator", "comparator", "judge"),
}
#: Relation -> factor and shift of judgments and scores; a negative factor makes lower better.
LINEAR = {"lower is better": (-1, 6), "constant added": (1, 10), "tiny units": (1e-12, 0)}
#: Columns that depend on random draws; they agree within Monte Carlo error if keys change order.
DRAWN = r"(ci_)?(low|high)|se|p|p_value|p_adjusted|center|n_undefined|slope|verdict"
SEEDED = re.compile("correlat|compare_ev|distributions|huse|diversity|trends")
#: Ends that change places where signs do.
ENDS = {"ci_low": "ci_high", "lower": "upper", "inner_low": "inner_high", "n_first": "n_second"}
_NUMBER = r"−?\d[\d,.]*"
ENDS |= {high: low for low, high in ENDS.items()}


@cache
def studies():
    world = {"means": [0.8, 0.3, 0.3, -0.4], "n_annotators": 11, "missing": 0.3, "seed": 4}
    judged = nb.simulate("own", **world, n_items=12, scale="ordinal")
    judged = judged.replace(settings={"scales": {"quality": {"min": 1, "max": 5}}})
    many = nb.simulate("own", **world, n_items=36).outputs
    many = many.assign(part="part " + (many["item_id"].str[1:].astype(int) % 6).astype(str))
    parts = nb.simulate("own", **world, n_items=36).replace(
        outputs=many, settings={"extra": ["part"]}, preferences=None
    )
    world = {"means": [0.8, 0.3, -0.4], "n_annotators": 11, "n_items": 14, "seed": 4}
    judges = {"fair": {}, "hasty": {"first": 0.5}, "vain": {"own": 1.0}}
    sizes = {"n_outputs": 24, "n_annotators": 6, "n_truth": 99, "seed": 4}
    scored = nb.simulate(
        "reviews", systems=["grammar_t1.0", "leaky_t0.5", "corrupted_0.5"], **sizes
    )
    judged_by = {"close": pd.DataFrame({"evaluator": ["close"]})}
    return {
        "judgments": with_tables(judged, preferences=None, truth=judged_by),
        "parts": parts,
        "votes": nb.simulate("judges", **world, judges=judges),
        # Likelihoods are slow to maximize.
        "small": nb.simulate("own", means=[0.8, 0.3, -0.4], n_annotators=5, n_items=5, seed=4),
        "scores": nb.score(scored, ["length@sentinel", "distinct_1"]),
    }


def correlations(study):
    levels = {"output": {}, "item": {}, "system": {"statistics": ["pearson"]}}
    tables = [nb.correlate(study, granularity=level, **asked) for level, asked in levels.items()]
    return pd.concat(tables, ignore_index=True)


def pooled(study):
    parts = []
    for name in sorted(study.outputs["part"].unique()):
        inside = part_of(study, (study.outputs["part"] == name).to_numpy())
        parts.append(
            nb.correlate(inside, granularity="output", statistics=["spearman"]).assign(study=name)
        )
    return nb.pool_correlations(pd.concat(parts))


def compared(study):
    return nb.compare_systems(study, margin=0.5 * float(study.judgments["value"].std()))


def compared_by_scores(study):
    return nb.compare_systems(study, evaluator=study.truth["close"]["evaluator"][0])


def planned(study):
    components, spread = nb.variance_components(study), float(study.judgments["value"].std())
    plan = nb.plan_study(components, difference=0.3 * spread, n_items=(20,), n_annotators=(10, 20))
    return [components, plan.curve, plan.designs]


def corrected(study):
    name = study.truth["close"]["evaluator"][0]
    return nb.corrected_quality(study, evaluator=name, sampling="random")


def audited(study):
    authors = study.truth["judges"].set_index("judge")["system"].to_dict()
    tables = list(vars(nb.audit(study, authors=authors)).values())[:-1]
    # Of the sentinels, one is drawn, and one follows the position.
    return [table[~table["evaluator"].isin(["random", "first"])] for table in tables]


def trends(study):
    table = analyze("diversity", study).rename(columns={"evaluator": "measure"})
    return nb.measure_trends(table, study.truth["systems"])


def judged(study, facts):
    options = {"dimension": study.main_dimension, "evaluator": "e", "is_drawn": True}
    return judge_findings(facts, study.name, study.name, **options)


def by_judgments(study):
    """Write the findings of notebooks 08, 09 and 10 from the tables that they record."""
    comparison, dimension = analyze("compare_systems", study), study.main_dimension
    tables = {"systems": comparison.systems, "pairs": comparison.pairs}
    tables |= {"stops": analyze("sequential", study).stops}
    corrected = analyze("corrected_quality", study)
    tables |= {"corrected_systems": corrected.systems, "corrected_pairs": corrected.pairs}
    replaced = analyze("replaces", study)
    tables |= {"replaced_evaluators": replaced.evaluators, "replaced_details": replaced.details}
    scored = add_sentinels(study, dimension=dimension)
    tables["correlations"] = nb.correlate(scored, granularity="output", n_resamples=100)
    facts = Facts(tables)
    asked = {"of_votes": False, "sample": "random", "block": "item", "default": True}
    written = [*findings(study, facts), *planning_findings(facts, dimension, **asked)]
    written += judged(study, facts)
    return [finding.sentence for finding in written if finding]


def by_votes(study):
    rated = analyze("rate", study)
    tables = {"ratings": rated.systems, "rating_pairs": rated.pairs}
    tables |= {"audit_findings": analyze("audit", study)[0]}
    tables |= {"vote_accuracy": analyze("vote_accuracy", study)}
    written = findings(study, Facts(tables))
    written += judged(study, Facts(tables))
    return [finding.sentence for finding in written if finding]


def by_scores(study):
    comparison = analyze("compare_systems by scores", study)
    facts = Facts({"systems": comparison.systems, "pairs": comparison.pairs})
    return [finding.sentence for finding in findings(study, facts) if finding]


def over_parts(study):
    result = analyze("pool_correlations", study)
    tables = {"pooled_summary": result.summary, "ranking": result.rank_evaluators()}
    return [one.sentence for one in atlas_findings(Facts(tables), "spearman") if one]


MEASURES = ["mmd_gaussian", "mmd_linear", "precision", "recall", "density", "coverage", "vendi"]
#: Analysis -> study, and function from it to a table, a list or dataclass of tables, or sentences.
ANALYSES = {
    "agreement": ("judgments", nb.agreement),
    "compare_systems": ("judgments", compared),
    "variance_components, plan_study": ("small", planned),
    "sequential": ("judgments", partial(nb.sequential, block="item")),
    "correlate": ("judgments", correlations),
    "compare_evaluators": ("judgments", partial(nb.compare_evaluators, granularity="output")),
    "pool_correlations": ("parts", pooled),
    "corrected_quality": ("judgments", corrected),
    "replaces": ("judgments", partial(nb.replaces_annotators, epsilon=0.1, agreement="rmse")),
    "compare_systems by scores": ("judgments", compared_by_scores),
    "rate": ("votes", partial(nb.rate, of="preferences")),
    "rate by judges": ("votes", partial(nb.rate, of="comparisons")),
    "win_rates": ("votes", partial(nb.win_rates, of="preferences")),
    "vote_agreement": ("votes", nb.vote_agreement),
    "vote_accuracy": ("votes", nb.vote_accuracy),
    "votes, sequential": ("votes", partial(nb.sequential, block="annotator")),
    "audit": ("votes", audited),
    "distributions": ("scores", partial(nb.compare_distributions, measures=MEASURES)),
    "huse": ("scores", partial(nb.huse, n_neighbors=5)),
    "diversity": ("scores", nb.diversity),
    "measure_trends": ("scores", trends),
    "findings on judgments": ("judgments", by_judgments),
    "findings on votes": ("votes", by_votes),
    "findings on scores": ("judgments", by_scores),
    "findings over parts": ("parts", over_parts),
}


@cache
def analyze(name, study):
    return ANALYSES[name][1](study)


#: Analyses in points of the scale.
POINTS = ("compare_systems", "variance_", "sequential", "corrected_quality")


def tables_of(study):
    return {name: table for name in TABLES if (table := getattr(study, name, None)) is not None}


def rename(study):
    """Rename systems, items, ..., and return a function that restores the names in texts."""
    tables, truth, old = tables_of(study), dict(study.truth or {}), {}
    for kind, named in NAMED.items():
        columns = [table[name] for table in tables.values() for name in named if name in table]
        names = sorted(set(pd.concat(columns).dropna()) - {"human", "length@sentinel"})
        to = {name: f"{kind[:3]}q{9999 - k}" for k, name in enumerate(names)}
        old |= {new: name for name, new in to.items()}
        for frames in (tables, truth):
            for table, frame in frames.items():
                columns = [name for name in named if name in frame]
                frames[table] = frame.replace(dict.fromkeys(columns, to))
    undo = partial(re.sub, r"[a-z]{3}q\d{4}", lambda match: old[match[0]])
    return with_tables(study, **tables, truth=truth), undo


def permute(study):
    """Permute the rows of all tables."""
    rng = np.random.default_rng(0)
    order = {name: rng.permutation(len(table)) for name, table in tables_of(study).items()}
    tables = {name: table.iloc[order[name]] for name, table in tables_of(study).items()}
    return with_tables(study, **{name: t.reset_index(drop=True) for name, t in tables.items()}), str


def exchange(study):
    """Exchange the sides of votes and comparisons."""
    sides = {"output_a": "output_b", "output_b": "output_a", "prob_a": "prob_b", "prob_b": "prob_a"}
    votes = study.preferences.rename(columns=sides).replace({"choice": {"a": "b", "b": "a"}})
    return with_tables(
        study, preferences=votes, comparisons=study.comparisons.rename(columns=sides)
    )


def transform(study, factor, shift):
    """Transform judgments and scores linearly; with a negative factor, lower becomes better."""
    dimension, settings = study.main_dimension, dict(study.settings)
    if "scales" in settings:
        low, high = sorted((factor + shift, factor * 5 + shift))
        settings["scales"] = {dimension: {"min": low, "max": high}}
    judgments = study.judgments.assign(value=factor * study.judgments["value"] + shift)
    scores = study.scores.assign(score=factor * study.scores["score"] + shift)
    if factor < 0:
        settings["lower_is_better"] = [dimension]
        scores["signature"] = "direction:lower is better"
    return with_tables(study, judgments=judgments, scores=scores, settings=settings)


def listed(result):
    """List an analysis's tables, with each pair of systems or evaluators in both orders."""
    if isinstance(result, list) and isinstance(result[0], str):
        result = pd.DataFrame({"sentence": result})
    tables = [result] if isinstance(result, pd.DataFrame) else result
    tables = tables if isinstance(tables, list) else vars(tables).values()
    return [both_ways(table) for table in tables if isinstance(table, pd.DataFrame)]


def both_ways(table):
    table = table.drop(columns=["label", "scale", "source", "better"], errors="ignore")
    for a, b in (("system", "opponent"), ("evaluator_a", "evaluator_b")):
        if b in table and table[[a, b]].merge(table, left_on=[a, b], right_on=[b, a]).empty:
            swapped = {a: b, b: a, "estimate_a": "estimate_b", "estimate_b": "estimate_a"}
            other = table.rename(columns=swapped | ENDS)[table.columns]
            other = other.replace({"verdict": {"better": "worse", "worse": "better"}})
            signed = [name for name in ("estimate", *ENDS) if name in other]
            table = pd.concat([table, other.assign(**-other[signed])], ignore_index=True)
    return table.infer_objects()


def expect(table, relation, name):
    """Return what a table becomes under a relation that changes units or positions."""
    if relation == "sides exchanged" and "test" in table:
        turned, names = table["test"] == "position", [key for key in ENDS if key in table]
        table.loc[turned, names] = -table.rename(columns=ENDS)[names]
        table.loc[turned, [key for key in ("estimate",) if key in table]] *= -1
    if relation == "sides exchanged" and "n_first" in table:
        table = table.rename(columns=ENDS)
    if relation in LINEAR and "sentence" in table:  # numbers have other units, and directions
        direction = {"; (sign-flipped, because )?lower is better": "", "the lowest": "the highest"}
        return table.replace({"sentence": {_NUMBER: "#"} | direction}, regex=True)
    if relation not in LINEAR or not name.startswith(POINTS):
        return table
    factor, shift = LINEAR[relation]
    if name == "corrected_quality" and factor < 0:
        factor, shift = 1, -6  # it flips the signs of dimensions for which lower is better
    is_gap = {"annotator_id", "opponent", "evaluator_a"} & set(table)
    level = ["estimate", "ci_low", "ci_high", "lower", "upper", "raw"]
    units = dict.fromkeys(["difference", "se", "mdd"], (abs(factor), 0))
    units |= dict.fromkeys(level, (abs(factor), 0) if is_gap else (factor, shift))
    if "component" in table:
        units |= dict.fromkeys(["estimate", "ci_low", "ci_high"], (factor**2, 0))
    elif factor < 0 and not is_gap:
        table = table.rename(columns=ENDS)
    return table.assign(
        **{key: table[key] * a + b for key, (a, b) in units.items() if key in table}
    )


def in_order(table):
    keys = [name for name in table if table[name].dtype.kind != "f"]
    return table.sort_values(keys, kind="stable", ignore_index=True, key=lambda c: c.astype(str))


def assert_same(before, after, drawn, analysis):
    """Compare cells; those of drawn columns may differ by a share of the interval's width."""
    before, after = in_order(before), in_order(after)
    assert set(before) == set(after) and len(before) == len(after), analysis
    width = before["ci_high"] - before["ci_low"] if "ci_low" in before else np.zeros(len(before))
    for name, cells in before.items():
        loose = drawn and re.fullmatch(DRAWN, name)
        if cells.dtype.kind not in "fi":
            assert loose or cells.tolist() == after[name].tolist(), (analysis, name)
            continue
        slack = 0.15 * np.nan_to_num(width) + 0.1 * name.startswith("p") if loose else 0
        floor = 1e-9 * min(1.0, max(cells.abs().max(), 1e-6))
        slack = slack + floor + (1e-3 if "method" in before else 1e-6) * cells.abs()
        assert (after[name].isna() == cells.isna()).all(), (analysis, name)
        assert not ((after[name] - cells).abs() > slack).any(), (analysis, name)


RELATIONS = {
    "names reversed": rename,
    **{name: partial(transform, factor=a, shift=b) for name, (a, b) in LINEAR.items()},
    "rows permuted": permute,
    "sides exchanged": exchange,
}


def applies(relation, name, kind):
    if relation == "sides exchanged":
        return kind == "votes"
    if relation == "rows permuted":  # the order of rows is that of collection
        return "sequential" not in name
    if relation == "tiny units" and "findings" in name:  # sentences have few decimals
        return False
    return relation not in LINEAR or kind != "scores" or name == "huse"


@pytest.mark.parametrize("kind", ["judgments", "parts", "small", "votes", "scores"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_results_stay_as_they_were(relation, kind):
    study = studies()[kind]
    names = [x for x in ANALYSES if ANALYSES[x][0] == kind and applies(relation, x, kind)]
    if not names:
        return
    changed = RELATIONS[relation](study)
    reordered = isinstance(changed, tuple)
    changed, undo = changed if reordered else (changed, str)
    for name in names:
        before, after = (listed(analyze(name, x)) for x in (study, changed))
        for table, other in zip(before, after, strict=True):
            other = other.map(lambda cell: undo(cell) if isinstance(cell, str) else cell)
            if relation in LINEAR and "sentence" in table:
                other = expect(other, relation, name)
            drawn = reordered and SEEDED.search(name)
            assert_same(expect(table, relation, name), other, drawn, name)
