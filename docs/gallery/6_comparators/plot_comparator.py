"""
Ratings from a trained comparator
=================================

Ratings of systems from comparisons of held-out texts, by a comparator trained on human judgments.
"""

import nlgbench as nb

systems = ["grammar_t0.7", "corrupted_0.3", "trigram_t1.0", "bigram_t1.0"]
study = nb.simulate("reviews", systems=systems, n_outputs=80, n_annotators=5, n_truth=0)
train, held_out = nb.split(study, by="text", test_size=0.4)
test = held_out.only(is_human=False)
pairs = nb.supervise(train, kinds=["human"], held_out=test, n=1000)
comparator = nb.train_comparator(pairs, backend="tfidf")
compared = nb.compare_texts(test, comparator, n_per_pair=60)
drawing = nb.plot_ratings(nb.rate(compared))
