"""What the README and the pages write in Python runs as it stands, each block by some test.

Blocks with prompts are doctests. Others run here on small worlds that are laid out as the public
studies are; or they are followed by the tests in ELSEWHERE.
"""

import ast
import os
import re
from pathlib import Path

import pytest

import nlgbench as nb
from nlgbench.datasets import cache

ROOT = Path(__file__).parent.parent
#: Pages whose blocks other tests follow, and which.
ELSEWHERE = {"docs/runs.md": "tests/runner/test_grid.py"}
#: Pages whose blocks run on any study of the kind.
ON_ANY = ("README.md", "docs/index.md")
#: Small worlds in the place of the public studies.
WORLDS = {
    "judge-the-judges": ("crowd", {"n_outputs": 10, "n_truth": 0}),
    "webnlg-2020": ("judgments", {"n_items": 20}),
    "llmbar-natural": ("judges", {"n_items": 30}),
}


def blocks(page):
    """Give a page's blocks of Python that doctest does not see."""
    found = re.findall(
        r"^```(?:python|py)\n((?s:.*?))^```$", (ROOT / page).read_text("utf-8"), re.M
    )
    return [code for code in found if ">>>" not in code]


def pages():
    """Give the site's pages, and those beside it, that have such blocks."""
    built = {"_build", "auto_gallery", "generated"}
    paths = [path for path in ROOT.glob("docs/**/*.md") if not built & set(path.parts)]
    paths += [*ROOT.glob("*.md"), *ROOT.glob("data/**/*.md")]
    names = {path.relative_to(ROOT).as_posix() for path in paths}
    return {name for name in names if blocks(name)}


def run(code, names):
    """Run an example; give what its last statement makes."""
    *first, last = ast.parse(code).body
    exec(compile(ast.Module(first, []), "<page>", "exec"), names)
    if not isinstance(last, ast.Assign | ast.Expr):
        raise AssertionError(f"an example ends with what it makes: {ast.unparse(last)}")
    made = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
    if isinstance(last, ast.Assign):
        names |= {target.id: made for target in last.targets}
    return made


def load(name):
    """Simulate a small study in a public one's place."""
    world, size = WORLDS[name]
    study = nb.simulate(world, seed=1, **size)
    return judged_on(study, "correctness") if world == "judgments" else study


def judged_on(study, dimension):
    judgments = study.judgments.assign(dimension=dimension)
    return study.replace(judgments=judgments, settings={"quality": dimension})


def check(made):
    if isinstance(made, nb.Drawing):
        assert made.axes and len(made.data) and len(made.alt) > 40
    assert made is not None


EXAMPLES = [(page, code) for page in ON_ANY for code in blocks(page)]


@pytest.mark.parametrize(("page", "code"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_on_a_simulated_study(page, code, monkeypatch):
    monkeypatch.setitem(vars(nb), "load", load)
    check(run(code, {"nb": nb}))


def which_system(monkeypatch):
    judged_on(nb.simulate("judgments", n_items=20, seed=1), "Fluency").write("webnlg-2020")
    (code,) = blocks("docs/tutorials/which-system.md")
    check(run(code, {}))


def which_evaluator(monkeypatch):
    judged_on(nb.simulate("own", n_items=20, seed=1), "CH").write("hanna")
    (code,) = blocks("docs/tutorials/which-evaluator.md")
    check(run(code, {}))


def own_claims(monkeypatch):
    study = judged_on(nb.simulate("own", n_items=20, seed=1), "fluency")
    scores = study.scores[study.scores["evaluator"] == "close"].assign(evaluator="bleu")
    whole = study.judgments.assign(value=study.judgments["value"].round())
    study.replace(judgments=whole, scores=scores).write("my-study")
    page = (ROOT / "docs/ledger.md").read_text("utf-8")
    (table,) = re.findall(r"^```csv\n((?s:.*?))^```$", page, re.M)
    Path("my-study/claims.csv").write_text(table, "utf-8")
    (code,) = blocks("docs/ledger.md")
    rows = run(code, {})
    verdicts = ["differs", "differs", "same direction", "not recomputable"]
    assert rows["verdict"].tolist() == verdicts
    assert rows.iloc[-1]["reason"] == "The log files were not kept."


def own_study(monkeypatch):
    (code,) = blocks("docs/own-study.md")
    assert run(code, {}).systems["system"].tolist() == ["template", "lstm"]


def studies(monkeypatch):
    if not os.environ.get("NLGBENCH_DATA") or not cache.available(
        ["webnlg-2020", "usr", "emnlp17"]
    ):
        pytest.skip("NLGBENCH_DATA names no folder with the releases")
    kappa, places, bleu = (run(code, {"nb": nb}) for code in blocks("docs/studies.md"))
    found = kappa[kappa["row"] == "all"].set_index("coefficient")["estimate"]
    assert round(found["fleiss_kappa"], 3) == 0.113
    assert round((places.sum().sum() - 3) / 6, 4) == 0.7096  # Pearson's, over the three pairs
    row = bleu.query("evaluator == 'Bleu_1' and dimension == 'informativeness'")
    assert row["estimate"].round(2).tolist() == [0.3] and row["n"].tolist() == [202]


def judges(monkeypatch):
    if not os.environ.get("NLGBENCH_DATA") or not cache.available(["judge-logs"]):
        pytest.skip("NLGBENCH_DATA names no folder with the release")
    (table,) = (run(code, {}) for code in blocks("docs/judges.md"))
    accuracy = table.query("quantity == 'accuracy'").set_index("system")["estimate"]
    assert round(accuracy["v3"], 4) == 0.8493  # that of truescore 0.7.4


FOLLOWED = {
    "docs/judges.md": judges,
    "docs/ledger.md": own_claims,
    "docs/own-study.md": own_study,
    "docs/studies.md": studies,
    "docs/tutorials/which-evaluator.md": which_evaluator,
    "docs/tutorials/which-system.md": which_system,
}


@pytest.mark.parametrize("page", sorted(FOLLOWED))
def test_a_page_is_followed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FOLLOWED[page](monkeypatch)


def test_every_block_of_python_is_run():
    assert pages() == {*ON_ANY, *FOLLOWED, *ELSEWHERE}
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")
