"""Judge the Judges from its printed tables alone.

Import from the rooms: `judges` recomputes, `findings` says what else follows, `repairs` which
printed number would let a row follow.
"""
