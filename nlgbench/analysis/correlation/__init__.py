"""Meta-evaluation: how well evaluators agree with people.

What is handed out here is in `meta_evaluation`. Where only scores per system are known, take
`system_scores`; one evaluator against another is in `comparing` and `williams`, many tests at once
in `multiplicity`.
"""

from nlgbench.analysis.correlation.meta_evaluation import correlate

__all__ = ["correlate"]
