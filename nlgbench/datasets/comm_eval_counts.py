"""What the paper on communication-based evaluation counts, and its Human row.

Newman, Cohn-Gordon and Potts (2020), Proceedings of SCiL 3, arXiv:1909.07290.
"""

from __future__ import annotations

import pandas as pd

from nlgbench import tables
from nlgbench.datasets.comm_eval import QUALITY, pairs


def human_scores(study: tables.Study, *, misleading: str = "negated") -> pd.DataFrame:
    """Score captions by what crowd listeners picked, one row per listener, as Table 1 does.

    Parameters
    ----------
    study : Study
        As `load_comm_eval` gives it.
    misleading : {"negated", "twin_picked"}
        What a listener of a descriptive caption says of it as a misleading one: 1 for every color
        but the target, as the printed row has it; or 1 for the twin's target alone, which is
        the paper's definition of a score (section 5.2).

    Returns
    -------
    DataFrame
        ``dataset``, ``output_id``, ``annotator_id``, ``system``, ``quality``, ``group_id``,
        ``score`` (0 or 1, higher is better). Misleading captions have the listeners of their
        descriptive twin, also those 3 captions that the study leaves out.

    Raises
    ------
    ValueError
        For another derivation, or a study without ``listener_success``.

    Notes
    -----
    Read the correlation of these scores with quality with care; it is circular twice. Descriptive
    captions were kept because these very listeners understood them, and the misleading scores are
    the same clicks again, turned round. Nobody was asked about a misleading caption. On the release
    Pearson's correlation with quality is .701 negated, as printed, and .722 twin_picked. With all
    descriptive captions, understood or not, it is .478 and .547; of the unfiltered study, which
    has more ambiguous ones, too, .470 and .537.
    """
    if misleading not in ("negated", "twin_picked"):
        raise ValueError(f"misleading is negated or twin_picked, not {misleading!r}.")
    judged = study.judgments.merge(
        study.outputs[["dataset", "output_id", "system"]],
        on=["dataset", "output_id"],
        validate="many_to_one",
    )
    success = judged[judged["dimension"] == "listener_success"]
    if success.empty:
        raise ValueError("the study has no judgments of listener_success: load comm-eval anew.")
    turned = judged[judged["dimension"] == "twin_picked"]
    if misleading == "negated":
        turned = success.assign(value=1 - success["value"])
    turned = turned[turned["system"] == "descriptive"]
    turned = turned.assign(system="misleading", output_id=turned["output_id"] + "-twin")
    scores = pd.concat([success[success["system"] != "misleading"], turned], ignore_index=True)
    scores["quality"] = scores["system"].map(QUALITY)
    columns = ["dataset", "output_id", "annotator_id", "system", "quality", "group_id", "value"]
    return scores[columns].rename(columns={"value": "score"})


def counts(collected: tables.Study, scored: tables.Study) -> pd.DataFrame:
    """Count what sections 5.1 and 5.3 of the paper count.

    Parameters
    ----------
    collected, scored : Study
        ``load_comm_eval(filtered=False)`` and ``load_comm_eval()``.

    Returns
    -------
    DataFrame
        ``claim_id``, ``variant``, ``value``, ``reason``: a row per claim, and one under a variant
        where a count can be read in two ways. They count a finite set, so they have no interval.

    Raises
    ------
    ValueError
        If the studies have no references or contexts, or `scored` is not a part of `collected`.
    """
    outputs, references = scored.outputs, scored.references
    if references is None or scored.contexts is None:
        raise ValueError("scored has no references or no contexts: load comm-eval anew.")
    if not outputs["output_id"].isin(collected.outputs["output_id"]).all():
        raise ValueError(
            "scored has captions that collected lacks: hand over the unfiltered first."
        )
    crowd = collected.outputs[
        (collected.outputs["system"] == "descriptive")
        & ~collected.outputs["output_id"].str.contains("-m", regex=False)
    ]
    vague = collected.outputs["system"] == "ambiguous"
    success = collected.judgments[collected.judgments["dimension"] == "listener_success"]
    listeners = success.groupby("output_id").size()
    n_references = references.groupby("item_id").size()
    others = outputs["item_id"].map(n_references) - (outputs["system"] == "descriptive")
    own = n_references[n_references.index.isin(outputs["context"])]
    by_system = outputs["system"].value_counts()
    human = human_scores(scored)["system"].value_counts()
    n_unheard = (~collected.outputs["output_id"][vague].isin(listeners.index)).sum()
    rows = [
        ("5.1/contexts/count", "", outputs["context"].nunique(), ""),
        ("5.1/context_pairs/count", "", pairs(outputs).nunique(), ""),
        (
            *(
                "5.1/reference_descriptions/per_context",
                "",
                len(crowd) / crowd["context"].nunique(),
            ),
            "collected from the crowd, before the filter",
        ),
        (
            *("5.1/listeners/per_utterance", "", listeners.mean()),
            f"of crowd captions that anybody heard; {n_unheard} ambiguous ones have no listener",
        ),
        (
            *("5.1/references/per_context", "", others.mean()),
            "the mean over scored captions, a descriptive one not being its own reference",
        ),
        (
            *("5.1/references/per_context", "mean over contexts", own.mean()),
            "kept descriptive captions of a context",
        ),
    ]
    rows += [(f"5.1/{name}/count", "", by_system[name], "") for name in QUALITY]
    reason = "clicks on crowd captions; misleading ones repeat those on the descriptive captions"
    rows += [(f"5.3/{name}/human_scores", "", human[name], reason) for name in QUALITY]
    table = pd.DataFrame(rows, columns=["claim_id", "variant", "value", "reason"])
    table["claim_id"] = "comm-eval/section" + table["claim_id"]
    return table.astype({"value": float})
