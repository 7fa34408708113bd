"""HUSE: how well human outputs and a system's can be told apart, and how sure that is.

What is handed out here is in `scores`. Intervals are in `uncertainty`, tests in `permutation`, how
many outputs are needed in `stability`, what went wrong in `diagnosis`, other conventions in
`multiverse`.
"""

from nlgbench.analysis.huse.scores import SCALED, SCORES, TOLERANCE, HuseResult, huse, score_table

__all__ = ["SCALED", "SCORES", "TOLERANCE", "HuseResult", "huse", "score_table"]
