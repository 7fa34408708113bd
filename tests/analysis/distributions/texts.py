"""Random texts, and studies of them, for the tests of this folder."""

import numpy as np
import pandas as pd

import nlgbench as nb


def words(rng, n_texts, n_words=100, *, exponent=1.0, at_least=3):
    """Draw texts of Zipf's words; with many words no two are equal."""
    share = np.arange(1, n_words + 1) ** -exponent
    lengths = at_least + rng.poisson(6, size=n_texts)
    return [" ".join(rng.choice(n_words, n, p=share / share.sum()).astype(str)) for n in lengths]


def study_of(human, system, of_human=None, of_system=None, *, shared=True):
    """Make a study of texts of people and of a system, of the same items or of others."""
    of_human = of_human or [f"i{n}" for n in range(len(human))]
    of_system = of_system or [f"{'i' if shared else 'j'}{n}" for n in range(len(system))]
    rows = [(f"h{n}", of_human[n], "human", text) for n, text in enumerate(human)]
    rows += [(f"s{n}", of_system[n], "s", text) for n, text in enumerate(system)]
    return nb.Study(pd.DataFrame(rows, columns=["output_id", "item_id", "system", "text"]))


def compare(study, **options):
    return nb.compare_distributions(study, **options).set_index("measure")
