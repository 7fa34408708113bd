"""What is wrong with what is passed in is named before anything runs, or does not matter."""

import importlib
import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import nlgbench as nb
from nlgbench.evaluators.comparator import Comparator
from nlgbench.evaluators.listeners import Listener
from nlgbench.plots.figures import canvas

NAMED = "$\\alpha_{t}$ 100% <b>x</b>_y"
FUNCTIONS = {
    name: found
    for name in nb.__all__
    if inspect.isfunction(found := getattr(nb, name)) and not name.startswith("plot_")
}
#: Parameter -> what it cannot be, wherever it stands.
WRONG = {
    "study": [None, [], "study/", {}, 3, pd.Series([1.0])],
    "seed": [None, True, "x", -1, 1.5, np.nan],
    "confidence": [0, 1, 1.5, np.nan, np.inf, None, "0.95", True],
    "n_resamples": [-1, True, "10", 2.5, np.nan, [5]],
    "dimension": [3, ["quality"], True],
}


FOLDERS = "analysis.huse analysis.correlation analysis.people analysis.ratings analysis.trials "
FOLDERS += "analysis.judges analysis.planning analysis.distributions explorer "
FOLDERS += "evaluators.comparator evaluators.listeners worlds"


def test_whatever_is_handed_out_and_takes_parameters_is_checked():
    modules = [nb, *(importlib.import_module(f"nlgbench.{name}") for name in FOLDERS.split())]
    functions = [getattr(module, name) for module in modules for name in module.__all__]
    functions = [one for one in functions if inspect.isfunction(one)]
    bare = {one.__name__ for one in functions if not hasattr(one, "__wrapped__")}
    assert len(functions) > 70 and bare <= {"studies"}


@pytest.fixture(scope="module")
def study():
    return nb.simulate("gaussian", n_outputs=20, seed=0)


def required(function, study):
    """Arguments that a function cannot do without, of the right kinds."""
    kinds = {"str": "t0.7", "pd.DataFrame": pd.DataFrame(), "Study": study}
    kinds |= {"Sequence[str | Fitted]": ["rouge_l"], "pd.Series": pd.Series([1.0])}
    kinds |= {"Comparator": Comparator("c", print, (), frozenset(), True, "")}
    kinds |= {"tuple[float, float]": (0.5, 0.4)}
    kinds |= {"Listeners": Listener(), "Kind": "likert", "Rule": "wmt"}
    given = {"study": study, "studies": {"x": study}, "pilot": {"rest": 1.0}, "block": "item"}
    given |= {"difference": 0.3, "epsilon": 0.1, "win": 0.6, "sampling": "random"}
    given |= {"correlations": (0.5, 0.5, 0.5), "sensitivity": (9, 10), "specificity": (9, 10)}
    return {
        name: kinds.get(str(one.annotation), "t0.7")
        if name not in given or str(one.annotation) == "pd.DataFrame"
        else given[name]
        for name, one in inspect.signature(function).parameters.items()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }


@pytest.mark.parametrize("parameter", WRONG)
def test_a_parameter_of_another_kind_is_named(parameter, study):
    """Whatever the function: each names the parameter, and says what it must be."""
    unclear, n_tried = [], 0
    for name, function in FUNCTIONS.items():
        if parameter not in inspect.signature(function).parameters:
            continue
        for value in WRONG[parameter]:
            allowed = inspect.signature(function).parameters[parameter].annotation
            if isinstance(value, dict) and "Mapping" in str(allowed):
                continue  # studies by name, of which there are none
            if isinstance(value, list) and "Sequence" in str(allowed):
                continue  # several dimensions
            if (value is None or isinstance(value, str)) and "PathLike" in str(allowed):
                continue  # a folder, or the default
            n_tried += 1
            try:
                function(**{**required(function, study), parameter: value})
                unclear.append((name, value, "nothing"))
            except ValueError as error:
                if f"{parameter} must be" not in str(error):
                    unclear.append((name, value, str(error)))
    assert n_tried > 35 and not unclear


def test_a_misspelt_choice_has_the_nearest(study):
    with pytest.raises(ValueError, match=r"ties: 'exactly' is unknown\. Did you mean 'exact'"):
        nb.huse(study, ties="exactly")
    with pytest.raises(ValueError, match=r"ties: 'releasd' is unknown\. Did you mean 'released'"):
        nb.huse(study, ties=["exact", "releasd"])
    with pytest.raises(ValueError, match=r"'kendall' is unknown\. Did you mean 'kendall_b'"):
        nb.correlate(study, statistics=["kendall"])


def test_a_seed_gives_the_numbers_of_its_generator(study):
    found = [
        nb.huse(study, systems="t0.7", n_neighbors=3, n_resamples=np.int64(5), seed=seed)
        for seed in (3, np.int64(3), np.random.default_rng(3))
    ]
    pd.testing.assert_frame_equal(found[0], found[1])
    pd.testing.assert_frame_equal(found[0], found[2])


ENDS = {"ci_low": 0.1, "ci_high": 0.8}
OPTIONS = {
    "plot_scatter_systems": {"x": "quality", "y": "bleu"},
    "plot_training": {"chosen": pd.DataFrame({"evaluator": ["bleu"], "progress": 0.5})},
}
TABLES = {
    "plot_atlas": pd.DataFrame(
        {"evaluator": ["chrf", "bleu"], "statistic": "spearman", "estimate": 0.5}
    ).assign(**ENDS),
    "plot_choices": pd.DataFrame(
        {"evaluator": "bleu", "measure": ["regret", "win_times"], "estimate": [0.5, 4.0], "n": 10}
    ).assign(**ENDS),
    "plot_convergence": pd.DataFrame(
        {"game": [1, 1], "system": ["a", "b"], "rating": [1600.0, 1400.0], "deviation": 200.0}
    ),
    "plot_distributions": pd.DataFrame(
        {"measure": ["vendi", "recall"], "change": "temperature", "slope": 0.5, "verdict": "sees"}
    ).assign(**ENDS),
    "plot_forest": pd.DataFrame({"evaluator": ["chrf", "bleu"], "estimate": 0.5}).assign(**ENDS),
    "plot_multiverse": pd.DataFrame(
        {"system": "a", "score": "huse", "estimate": [0.5, 0.2], "paper": [True, False]}
    ).assign(n_neighbors=[8, 16]),
    "plot_ratings": pd.DataFrame({"system": ["a", "b"], "rating": [0.5, 0.2]}).assign(**ENDS),
    "plot_reliability": pd.DataFrame({"probability": [0.4, 0.8], "share": [0.5, 0.7]}),
    "plot_scatter_systems": pd.DataFrame(
        {"system": ["a", "b"], "quality": [0.5, 0.2], "bleu": [0.2, 0.3]}
    ),
    "plot_severity": pd.DataFrame({"annotator_id": ["a", "b"], "severity": [0.5, -0.2]}).assign(
        **ENDS
    ),
    "plot_stability": pd.DataFrame(
        {"system": "a", "over": "outputs", "size": [5, 10], "score": "huse", "mean": 0.5}
    ).assign(**ENDS),
    "plot_systems": pd.DataFrame({"system": ["a", "b"], "estimate": [0.5, 0.2]}).assign(**ENDS),
    "plot_tradeoff": pd.DataFrame(
        {"system": "a", "score": ["huse", "huse_q", "huse_d"], "estimate": 0.5}
    ).assign(source="simulated"),
    "plot_training": pd.DataFrame(
        {"evaluator": "bleu", "progress": [0.5, 1.0], "value": [0.2, 0.3]}
    ).assign(**ENDS),
    "plot_typicality": pd.DataFrame(
        {"logprob_per_token": [-1.0, -2.0], "judgment": [0.5, 0.4], "confidence": 0.9}
    ).assign(**ENDS, source="simulated"),
    "plot_win_rates": pd.DataFrame(
        {"system": ["a", "b"], "opponent": ["b", "a"], "win_rate": [0.3, 0.7]}
    ),
}


def damaged(column: pd.Series) -> list:
    """What a column of a right table cannot hold."""
    lists = [[1]] * len(column)
    if column.dtype == "str":
        worse = [None, lists, column.map(str.encode), pd.Timestamp("2020-01-01")]
        return [*worse, "x" * 300] if column.name in ("system", "evaluator") else worse
    worse = [lists, "many", pd.Timestamp("2020-01-01"), column + 1j]
    return worse if column.dtype == bool else [*worse, np.inf, 1e308, column > -np.inf]


@pytest.mark.parametrize("name", TABLES)
def test_a_plot_names_the_column_that_is_wrong(name):
    plot, table = partial(getattr(nb, name), **OPTIONS.get(name, {})), TABLES[name]
    for column in table:
        for other in damaged(table[column]):
            with pytest.raises(ValueError, match=f"column '{column}' must"):
                plot(table.assign(**{column: other}))
        with pytest.raises(ValueError, match=f"no column '{column}'"):
            plot(table.drop(columns=column))
    with pytest.raises(ValueError, match="two columns"):
        plot(pd.concat([table, table.iloc[:, :1]], axis=1))
    with pytest.raises(ValueError, match="no row"):
        plot(table.iloc[:0])
    for other in (None, [], "table.csv", {}, table.iloc[:, 0]):
        with pytest.raises(ValueError, match=r"must be a (Calibration, or a )?DataFrame"):
            plot(other)


@pytest.mark.parametrize("name", ["plot_forest", "plot_ratings", "plot_multiverse"])
def test_how_a_right_table_is_held_does_not_matter(name):
    plot, table = getattr(nb, name), TABLES[name]
    right = plot(table)
    texts = {column: "category" for column in table if table[column].dtype == "str"}
    held = [table.astype(object), table.convert_dtypes(), table.astype(texts)]
    for other in [*held, table.set_axis([0] * len(table))]:
        drawn = plot(other)
        assert drawn.alt == right.alt
        pd.testing.assert_frame_equal(drawn.data.reset_index(drop=True), right.data)


@pytest.mark.parametrize("name", ["plot_forest", "plot_ratings", "plot_win_rates"])
@pytest.mark.parametrize("own", [True, False])
def test_a_dollar_sign_in_a_name_starts_no_formula(name, own):
    column = "evaluator" if name == "plot_forest" else "system"
    names = [column, "opponent"] if name == "plot_win_rates" else [column]
    table = TABLES[name].replace({key: {"chrf": NAMED, "a": NAMED} for key in names})
    ax = None if own else canvas(4, 3)[1][0]
    if ax is not None:
        ax.figure.draw_without_rendering()  # ticks are there, and are written anew
        ax.set_title(r"$\rho$")
    drawn = getattr(nb, name)(table, ax=ax)
    drawn.figure.draw_without_rendering()
    written = [one for one in drawn.figure.findobj(Text) if r"\alpha" in one.get_text()]
    assert written and not any(one.get_parse_math() for one in written)
    assert {one.get_text() for one in written} == {NAMED.replace("_", " ")}
    if ax is not None:
        assert ax.title.get_parse_math(), "what stood there before is as it was"


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("logprob", -1e308, "must be at most 1e.100 in size"),
        ("logprob", -1.0 + 1j, "must be a number"),
        ("n_tokens", 1e308, "must be a whole number"),
    ],
)
def test_a_study_refuses_numbers_that_cannot_be_reckoned_with(study, column, value, rule):
    with pytest.raises(ValueError, match=f"column '{column}' {rule}"):
        study.replace(logprobs=study.logprobs.assign(**{column: value}))


@pytest.mark.parametrize("name", ["settings", "truth", "related"])
@pytest.mark.parametrize("value", [3, True, [None], np.zeros((2, 2))])
def test_a_study_refuses_what_is_no_dict(study, name, value):
    with pytest.raises(ValueError, match=f"{name} must be a dict. Got "):
        nb.Study(study.outputs, **{name: value})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: nb.choose(t.drop(columns="group")), "scores have no column 'group'"),
        (lambda t: nb.choose(t.assign(score="many")), "column 'score' must be a number"),
        (lambda t: nb.choose(t.assign(score=1e308)), "column 'score' must be at most"),
        (lambda t: nb.choose(t.assign(system=None)), "column 'system' must be a text"),
        (lambda t: nb.choose(t.iloc[:0]), "no row"),
        (lambda t: nb.rate(t.assign(system_a="a", system_b=None, outcome="a")), "'system_b' must"),
        (lambda t: nb.rate(t.assign(system_a="a", system_b=1, outcome="a")), "write systems alike"),
    ],
)
def test_an_analysis_names_the_column_that_is_wrong(call, message):
    table = pd.DataFrame({"evaluator": "e", "group": [*"ghi"], "system": "a", "score": 0.5})
    with pytest.raises(ValueError, match=message):
        call(table)
