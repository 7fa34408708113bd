"""Figures write each evaluator with its label and kind, in one order."""

import pytest

from nlgbench.evaluators.names import kind, label, order


@pytest.mark.parametrize(
    ("name", "written", "of"),
    [
        ("bleu_4@coco", "BLEU-4 (coco)", "Word overlap"),
        ("minus_self_bleu_4", "minus Self-BLEU-4", "Diversity"),
        ("svm_meta@natural/majority", "SVM natural/majority", "Discriminators"),
        ("naive_bayes_individual@natural", "Naive Bayes individual natural", "Discriminators"),
        ("literal@2020", "Literal, seed 2020", "Listeners"),
        ("perplexity@lstm", "Perplexity (lstm)", "Probability"),
        ("my_own metric", "my own metric", "Others"),
    ],
)
def test_each_name_has_its_label_and_kind(name, written, of):
    assert (label(name), kind(name)) == (written, of)
    assert label(written) == written  # a label stays what it is


def test_the_order_is_that_of_the_table_and_unknown_names_come_last():
    names = ["zz", "svm_meta@natural", "bleu_2", "aa", "bleu_1@coco", "human", "bleu_2"]
    assert order(names) == ["human", "bleu_1@coco", "bleu_2", "svm_meta@natural", "zz", "aa"]
