"""The README's examples run as they stand: on the released studies, and on worlds laid out so."""

import os
import re
from pathlib import Path

import pytest

import nlgbench as nb
from nlgbench.datasets import cache

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = [
    code for code in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL) if "nb." in code
]
#: Small worlds in the place of the public studies.
WORLDS = {
    "huse": ("reviews", {"systems": ["leaky_t1.0", "leaky_t0.7"], "n_outputs": 50, "n_truth": 0}),
    "judge-the-judges": ("crowd", {"n_outputs": 10, "n_truth": 0}),
    "comm-eval": ("colors", {"n_contexts": 30, "n_rounds": {"train": 20}}),
    "webnlg-2020": ("judgments", {"n_items": 20}),
    "llmbar-natural": ("judges", {"n_items": 30}),
}


def run(code: str) -> list[object]:
    """Run an example; give what its last line makes and every drawing on the way."""
    *first, last = code.replace("import nlgbench as nb\n", "").strip().split("\n")
    names = {"nb": nb}
    exec("\n".join(first), names)
    target, equals, _ = last.partition(" = ")
    if equals and target.isidentifier():
        exec(last, names)
        return [names[target]]
    return [eval(last, names)]


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_on_a_simulated_study(code, monkeypatch):
    def load(name):
        world, size = WORLDS[name]
        study = nb.simulate(world, seed=1, **size)
        if world != "judgments":
            return study
        fluency = study.judgments.assign(dimension="fluency")
        return study.replace(judgments=fluency, settings={"quality": "fluency"})

    monkeypatch.setitem(vars(nb), "load", load)
    check(run(code))


@pytest.mark.skipif(
    not os.environ.get("NLGBENCH_DATA") or not cache.available(["huse", "judge-the-judges"]),
    reason="NLGBENCH_DATA names no folder with the releases",
)
@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_on_the_released_study(code):
    check(run(code))


def check(made: list[object]) -> None:
    for one in made:
        if isinstance(one, nb.Drawing):
            assert one.axes and len(one.data) and len(one.alt) > 40
        assert one is not None
