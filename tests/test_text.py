"""N-grams are counted as NLTK counts them, within each text alone."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nlgbench.text import ngram_counts, text_lengths, tokenize

TEXTS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "NA"])).map(" ".join), max_size=6)


@given(TEXTS, st.integers(1, 5))
def test_counts_are_those_of_nltks_ngrams(texts, max_n):
    from nltk.util import ngrams

    for n, order in enumerate(ngram_counts(texts, max_n=max_n), start=1):
        if n == 1:
            lengths = text_lengths([order], len(texts))
            assert lengths.tolist() == [len(text.split()) for text in texts]
        plain = [Counter(ngrams(tokenize(text), n)) for text in texts]
        assert sorted(order["ngram"].unique()) == list(range(len(set().union(*plain))))
        assert not order.duplicated(["ngram", "text"]).any()
        assert order.equals(order.sort_values(["ngram", "text"]))
        # Numbers stand for n-grams one to one: the counts over all texts agree as multisets.
        ours = [tuple(zip(g["text"], g["count"], strict=True)) for _, g in order.groupby("ngram")]
        theirs = [
            tuple((at, counts[gram]) for at, counts in enumerate(plain) if gram in counts)
            for gram in set().union(*plain)
        ]
        assert sorted(ours) == sorted(theirs)
