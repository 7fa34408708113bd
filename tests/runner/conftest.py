"""Small notebooks and folders of runs, made on the spot."""

from contextlib import contextmanager

import nbformat
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.papers import huse as paper
from nlgbench.runner import gathering, record, report, runs
from nlgbench.runner.execute import _IN_MANIFEST, Makers
from nlgbench.runner.findings import findings
from nlgbench.runner.kernels import READ, READ_LOG
from nlgbench.runner.runs import Outcome

#: Names as data may have them: markup, what LaTeX reads, another script.
HOSTILE = {
    "s01": "<script>document.title='taken'</script>",
    "s02": "\\input{secret} & 100% $x_1^2$ #1 ~",
    "s03": "система \"quoted\" 'too'",
}


@pytest.fixture
def hostile():
    return HOSTILE


@pytest.fixture
def make_notebook(tmp_path):
    """Return a function that writes a notebook of code cells, the first tagged `parameters`."""

    def make(name, *cells, datasets=()):
        node = nbformat.v4.new_notebook()
        node.cells = [nbformat.v4.new_code_cell(source) for source in cells]
        if cells:
            node.cells[0].metadata["tags"] = ["parameters"]
        node.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        node.metadata["nlgbench"] = {"datasets": list(datasets)}
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(node, path)
        return path

    return make


@pytest.fixture
def in_process(monkeypatch):
    """Make runs without kernels: the cells run in this process, all else is as it always is."""

    def make(plan, out, timeout, listener):
        new, failed = runs.aside(out, plan.folder), out / f"{plan.folder}.failed"
        listener(None)
        names = {}
        try:
            with monkeypatch.context() as patch:
                patch.setenv(READ_LOG, str(new / READ))
                first, *cells = plan.notebook.code
                exec(first, names)
                names |= {**plan.parameters, "output_dir": str(new)}
                exec("\n".join(cells), names)
            about = {name: getattr(plan, name) for name in _IN_MANIFEST}
            read = runs.take_read(new, plan.parameters.get("study"))
            about |= {"notebook": plan.name, "read": read, **runs.take_record(new, plan.name)}
            runs.remove(failed)
            runs.write_manifest(new, about)
            runs.promote(new, out / plan.folder)
        except Exception as error:
            runs.keep_failed(new, failed)
            return Outcome(plan, "failed", 0.0, f"{type(error).__name__}: {error}")
        return Outcome(plan, "done", 0.0)

    @contextmanager
    def makers():
        yield Makers(1, make, lambda: None)

    return makers


@pytest.fixture(scope="session")
def reported(tmp_path_factory):
    """A folder of two runs and its report: one's own study, and claims that follow from print."""
    out = tmp_path_factory.mktemp("runs")
    simulated = nb.open_study(
        "webnlg-2020", source="simulated", folder=None, n_items=12, n_annotators=8, seed=3
    )
    outputs = simulated.outputs.assign(system=simulated.outputs["system"].replace(HOSTILE))
    study = simulated.replace(outputs=outputs, name="<b>own</b>")
    compared = nb.compare_systems(study)

    run = record.open("90-own", source="study", output_dir=str(out / "90-own"))
    run.table(compared.systems, "systems")
    run.table(compared.pairs, "pairs")
    correlations = nb.correlate(study, n_resamples=200)
    run.table(correlations, "correlations")
    run.table(nb.datasheet(study), "datasheet")
    doubt = "few votes. If they are errors, exclude them with `settings: valid: {flow: {max: 7}}`."
    run.table(pd.DataFrame({"could change a conclusion": [doubt]}), "doubts")
    run.conclude(study, *findings(study, run.facts))
    run.figure(nb.plot_systems(compared), "systems")
    run.figure(nb.plot_atlas(correlations), "atlas")
    finish(run, out / "90-own", "# Which <i>system</i> is better?\n\nA question & more.")

    run = record.open(
        "01-huse-tradeoff", source="simulated", output_dir=str(out / "01-huse-tradeoff")
    )
    implied = paper.equation_9()
    run.claims(paper.answers_from_print())
    beside = implied.set_index("row")[["huse", "huse_q", "huse_d", "implied"]]
    layout = {"table": beside, "caption": "Equation 9", "note": "† follows – or not."}
    run.table(implied, "equation_9", source="published", layout=layout)
    run.skip("huse/*", "left out here")
    run.figure(nb.plot_tradeoff(paper.figure3(study, None)), "tradeoff", source="published")
    finish(run, out / "01-huse-tradeoff", "# Quality against diversity\n\n## What follows")
    gathering.gather(out)
    report.write(out)
    return out


def finish(run, place, words):
    """Close a record, and leave what the runner leaves beside it."""
    run.close()
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(words)])
    nbformat.write(node, place / "notebook.ipynb")
    about = {"notebook": place.name, "folder": place.name, "digest": "d" * 64, "status": "done"}
    about |= {"source": run.source, "parameters": {"seed": 3}, "data": {"own/x.csv": "a" * 64}}
    about |= {"seed": 3, "started": "2026-01-01T00:00:00+00:00", "seconds": 1.0}
    runs.write_manifest(place, about | runs.take_record(place, place.name))
