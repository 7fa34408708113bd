"""What a study supports, and the commands to run next."""

from __future__ import annotations

import shlex
from pathlib import Path

from nlgbench.runner import listing
from nlgbench.study import Study

#: Analyses, one of which must be possible; what the command does; the command.
_COMMANDS = (
    ("compare_systems rate correlate", "Rank systems and evaluators", "run 08 -p study={}"),
    ("huse", "Measure quality and diversity by HUSE", "run 01 -p study={}"),
    ("audit corrected_quality", "Find out what a judge is worth", "run 09 -p study={}"),
    ("variance_components", "Plan how many judgments to collect", "run 10 -p study={}"),
    ("compare_distributions", "Compare machine with human texts", "run 12 -p study={}"),
)


def section(title: str, lines: list[str]) -> list[str]:
    """Lay out a titled list, unless it is empty."""
    return ["\n".join([title, *map(listing.wrapped, lines)])] if lines else []


def supported(study: Study, folder: Path) -> list[str]:
    """List the analyses that a study supports, the commands for them, and what others need."""
    can = study.check()
    possible = {*can.loc[can["possible"], "analysis"]}
    can["analysis"] = can["analysis"].str.replace(r": (.*)", r" (\1)", regex=True)
    needed: dict[str, list[str]] = {}
    for row in can[~can["possible"]].itertuples():
        for need in str(row.missing).split("; "):
            needed.setdefault(need, []).append(str(row.analysis))
    ready = [", ".join(can.loc[can["possible"], "analysis"])]
    if not possible:
        ready = ["None yet: add a table that is listed below."]
    commands = [command for names, *command in _COMMANDS if possible & {*names.split()}]
    if study.scores is not None:
        labeled = [] if study.judgments is None else study.judgments["output_id"].tolist()
        is_labeled = study.scores["output_id"].isin(labeled)
        if "corrected_quality" in possible and not is_labeled.all():
            sheet = "probability" in study.outputs
            how = f"sampling={'weighted' if sheet else 'random'}"
            purpose = f"Correct a judge{'' if sheet else ', if labels were drawn at random'}"
            commands.append([purpose, f"run 09 -p study={{}} -p {how}"])
        commands += [["Compare systems by scores", "compare {}"]] * (len(study.systems) > 1)
        commands.append(["Draw outputs to be labeled", "sample {} --n 200"])
    path = listing.visible(shlex.quote(str(folder)))
    # Commands are not wrapped, so that they can be copied.
    steps = [f"  {purpose}: nlgbench {text.format(path)}" for purpose, text in commands]
    lacking = [f"{need}: {', '.join(names)}" for need, names in needed.items()]
    return [
        "\n".join([*section("Analyses you can run", ready), *(steps if folder.is_dir() else ())]),
        *section("Analyses that need more data, by what they need", lacking),
    ]
