"""Labels, kinds and order of evaluators in figures, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from nlgbench.evaluators.tokenizers import split_name

_LISTENERS = ("literal", "pragmatic", "context")
# Name (a regular expression for the whole name), label (may use its groups), kind; in the order
# of figures. One row covers all variants of an evaluator (training and scoring labels, seeds).
_TABLE: list[tuple[str, str, str]] = [
    ("human|people", "Human", "People"),
    (r"h(\d)", r"H\1", "People"),
    ("truth", "Truth", "People"),
    *((rf"bleu_({n})@coco", r"BLEU-\1 (coco)", "Word overlap") for n in range(1, 5)),
    *((rf"bleu_({n})", r"BLEU-\1", "Word overlap") for n in range(1, 5)),
    ("bleu_2_to_4", "BLEU-2 to 4", "Word overlap"),
    *((rf"corpus_bleu_({n})@coco", r"Corpus BLEU-\1 (coco)", "Word overlap") for n in range(1, 5)),
    *((rf"corpus_bleu_({n})", r"Corpus BLEU-\1", "Word overlap") for n in range(1, 5)),
    ("corpus_chrf", "Corpus chrF", "Word overlap"),
    ("bleu|BLEU", "BLEU", "Word overlap"),
    (r"rouge_(\d)", r"ROUGE-\1", "Word overlap"),
    ("rouge_l", "ROUGE-L", "Word overlap"),
    ("chrf|chrF", "chrF", "Word overlap"),
    (r"chrf\+\+|chrF\+\+", "chrF++", "Word overlap"),
    ("ter|TER", "TER", "Word overlap"),
    ("cider", "CIDEr", "Word overlap"),
    ("cider_d", "CIDEr-D", "Word overlap"),
    ("meteor|METEOR", "METEOR", "Word overlap"),
    (r"self_bleu_(\d)", r"Self-BLEU-\1", "Diversity"),
    (r"minus_self_bleu_(\d)", r"minus Self-BLEU-\1", "Diversity"),
    ("training_overlap_4", "BLEU vs. human corpus", "Diversity"),
    (r"training_overlap_(\d)", r"BLEU-\1 against the human corpus", "Diversity"),
    (r"distinct_(\d)", r"Distinct-\1", "Diversity"),
    (r"entropy_(\d)", r"Entropy-\1", "Diversity"),
    ("perplexity", "Perplexity", "Probability"),
    (r"perplexity@(.+)", r"Perplexity (\1)", "Probability"),
    ("ensemble", "Ensemble", "Listeners"),
    *((f"{name}(?:_listener)?", name.capitalize(), "Listeners") for name in _LISTENERS),
    *((rf"{name}[_@](\d+)", rf"{name.capitalize()}, seed \1", "Listeners") for name in _LISTENERS),
    *((f"{name}@released", f"{name.capitalize()}, released", "Listeners") for name in _LISTENERS),
]

MODELS = {
    "svm": "SVM",
    "naive_bayes": "Naive Bayes",
    "logistic_regression": "Logistic",
    "random_forest": "Random forest",
    "xgboost": "XGBoost",
    "lstm": "LSTM",
    "cnn": "CNN",
    "cnn_lstm": "CNN & LSTM",
}
#: A discriminator's name -> model, scope, labels trained on, labels scored on.
DISCRIMINATOR = rf"({'|'.join(MODELS)})_(meta|individual)(?:@([^/]+))?(?:/(.+))?"
for _name, _label in MODELS.items():
    _TABLE += [
        (_name, _label, "Discriminators"),
        (rf"{_name}_meta@(.+)", rf"{_label} \1", "Discriminators"),
        (rf"{_name}_individual@(.+)", rf"{_label} individual \1", "Discriminators"),
    ]
_TABLE += [
    ("comparator", "Comparator: all pairs", "Comparators"),
    ("comparator_human", "Comparator: human pairs", "Comparators"),
    ("comparator_self", "Comparator: no human pairs", "Comparators"),
    ("comparator, with skill rating", "Comparator, rated", "Comparators"),
    ("comparator, with random sampled reference", "Comparator, references", "Comparators"),
    ("with skill rating", "Full model, rated", "Comparators"),
    ("regressor", "Regressor (ADEM's role)", "Comparators"),
    (r"ADEM's role \(regressor\)", "Regressor (ADEM's role)", "Comparators"),
    ("adversarial(?: evaluator)?", "Adversarial", "Comparators"),
    ("last_checkpoint", "Last checkpoint", "Baselines"),
    ("random choice", "Random choice", "Baselines"),
    ("oracle", "Oracle", "Baselines"),
    ("length@sentinel", "Length", "Sentinels"),
    ("constant@sentinel", "Constant", "Sentinels"),
    ("system_mean@sentinel", "System mean", "Sentinels"),
]


def _row(name: str) -> tuple[int, re.Match[str] | None]:
    metric, _ = split_name(name)
    for row, (pattern, _, _) in enumerate(_TABLE):
        if match := re.fullmatch(pattern, metric):
            return row, match
    return len(_TABLE), None


def label(name: str) -> str:
    """Return an evaluator's label for figures; in unknown names, spaces replace underscores.

    >>> [label(name) for name in ("bleu_4@coco", "svm_meta@natural/majority", "my_own")]
    ['BLEU-4 (coco)', 'SVM natural/majority', 'my own']
    >>> label("rouge_l@tokenize:zh")
    'ROUGE-L (zh)'
    """
    metric, tokenizer = split_name(name)
    row, match = _row(name)
    plain = metric.replace("_", " ") if match is None else match.expand(_TABLE[row][1])
    return f"{plain} ({tokenizer})" if tokenizer else plain


def kind(name: str) -> str:
    """Return an evaluator's kind as shown in figures; "Others" if unknown."""
    row, match = _row(name)
    return "Others" if match is None else _TABLE[row][2]


def order(names: Iterable[str]) -> list[str]:
    """Sort evaluators as figures show them: by kind, unknown ones last in their given order."""
    return sorted(dict.fromkeys(names), key=lambda name: _row(name)[0])


_STATISTICS = {
    "kendall_b": "τ-b",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "pairwise_accuracy": "pairwise accuracy",
    "pairwise_calibrated": "pairwise accuracy, calibrated ties",
    "pairwise_calibrated_same": "pairwise accuracy, ties calibrated on the same items",
    "soft_pairwise": "soft pairwise",
}


def labelled(correlations: pd.DataFrame) -> pd.DataFrame:
    """Replace evaluators and statistics with their labels, add evaluators' kinds, and sort by kind.

    Rows with the same ``criterion`` stay together; an existing ``kind`` column is kept.
    Discriminators scored by their errors (``/`` in the name) have a kind of their own.
    """
    names = correlations["evaluator"].astype(str)
    labels = names.map(label)
    is_shared = names.groupby(labels).transform("nunique") > 1  # such as bleu and BLEU
    table = correlations.assign(evaluator=labels.mask(is_shared, names))
    if "statistic" in table:
        table["statistic"] = table["statistic"].replace(_STATISTICS)
    if "kind" in table:
        return table
    kinds = names.map(kind)
    scored = (kinds == "Discriminators") & names.str.contains("/", regex=False)
    table["kind"] = kinds.mask(scored, "Discriminators, trained/scored on")
    order = [*dict.fromkeys(kind for _, _, kind in _TABLE), "Others"]
    keys = [pd.Categorical(kinds, order).codes]
    if "criterion" in table:
        keys.append(table["criterion"].factorize()[0])
    return table.iloc[np.lexsort(keys)]
