"""The reference distribution: a grammar of short product reviews, written for this package."""

from dataclasses import replace
from functools import cache

import numpy as np

from nlgbench.arrays import Floats, Ints
from nlgbench.generators.grammar import Grammar, Slot

_MISPLACED = 0.04  # relative weight of a phrase that contradicts the earlier phrases
_OPENING = (
    "honestly ,|overall ,|so far ,|for the price ,|after two weeks ,|to my surprise ,|in short ,|"
    "as a gift ,|frankly ,|on the whole ,|at first glance ,"
)
_DETERMINER = "the|this|my|our|that|their"
_KIND = "new|little|cheap|black|big|second|folding|used|spare"
_PRODUCT = {
    "kitchen": "kettle|blender|toaster|pan|grinder|mixer|cooker",
    "device": "phone|headset|keyboard|camera|speaker|watch|router|printer",
    "travel": "backpack|tent|jacket|suitcase|lantern|stroller|hammock",
}
_ORIGIN = "i ordered|from the sale|we were sent|with the long warranty|i had hoped for"
_VERB = "is|was|looks|feels|seems|turned out"
_DEGREE = "very|really|quite|rather|pretty|surprisingly|truly"
_VERDICT = {
    "good": "great|good|nice|solid|perfect|handy|sturdy|lovely|reliable|splendid|clever|flawless",
    "bad": "bad|disappointing|flimsy|poor|useless|noisy|awkward|fragile|dull|dreadful",
}
_LINK = {"same": "and|, and|because|since", "turn": "but|, yet|although|even though"}
_ASPECT = {
    "any": "the handle|the color|the design|the manual",
    "kitchen": "the lid|the motor|the cord|the coating|the timer",
    "device": "the battery|the screen|the sound|the software|the charger",
    "travel": "the zipper|the fabric|the strap|the frame|the pocket",
}
_EXPERIENCE = {
    "good": (
        "works well|holds up|is just right|does the job|is a joy|exceeds what they promise|"
        "lasts for ages|beats my old one|makes life easy|could not be better|never lets me down"
    ),
    "bad": (
        "does not work|broke|is a letdown|fell apart|feels like a toy|came damaged|stopped working|"
        "drives me mad|needs to be fixed|is nothing like the picture"
    ),
}
_OCCASION = {
    "any": "after a month|every day|most days|within a week|again and again",
    "kitchen": "in the dishwasher|with hot water|for large meals",
    "device": "on long calls|while charging|near other devices",
    "travel": "under heavy rain|along the trail|when fully packed",
}
_CLOSING = {
    "good": "; would buy again|; five stars|; a keeper|; my kids love it|; highly recommended",
    "bad": "; i sent it back|; not worth it|; two stars at most|; look elsewhere|; never again",
}
_END = ".|!|..."


def _zipf(n: int, *, empty: float | None = None) -> Floats:
    weight = 1 / np.arange(1.0, n + 1)
    weight /= weight.sum()
    return weight if empty is None else np.concatenate([[empty], (1 - empty) * weight])


def _free(name: str, phrases: str, *, empty: float | None = None) -> Slot:
    """Build a slot without parents; `empty` is the probability of the empty phrase."""
    listed = tuple(phrases.split("|"))
    weight = _zipf(len(listed), empty=empty)
    return Slot(name, listed if empty is None else ("", *listed), np.log(weight))


def _flat(groups: dict[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """Return all phrases and their groups, interleaved so that no group has all top ranks."""
    ranked = [
        (rank, group, phrase)
        for group, phrases in groups.items()
        for rank, phrase in enumerate(phrases.split("|"))
    ]
    ranked.sort(key=lambda entry: entry[0])
    return tuple(phrase for *_, phrase in ranked), [group for _, group, _ in ranked]


def _fitting(
    name: str,
    groups: dict[str, str],
    fitting_groups: list[str],
    parents: tuple[str, ...],
    *,
    empty: float | None = None,
) -> Slot:
    """Build a slot that gives most weight to the group of phrases that fits its parents."""
    phrases, group_of = _flat(groups)
    weight = _zipf(len(phrases), empty=empty)
    if empty is not None:
        phrases, group_of = ("", *phrases), ["any", *group_of]
    rows = [
        weight * [1 if group in ("any", want) else _MISPLACED for group in group_of]
        for want in fitting_groups
    ]
    return Slot(name, phrases, np.log(rows / np.sum(rows, axis=1, keepdims=True)), parents)


@cache
def review_grammar() -> Grammar:
    """Build the grammar of reviews."""
    product, product_kind = _flat(_PRODUCT)
    verdict, verdict_sign = _flat(_VERDICT)
    link, link_sign = _flat(_LINK)
    opposite = {"good": "bad", "bad": "good"}
    sign_then = [
        sign if kind == "same" else opposite[sign] for sign in verdict_sign for kind in link_sign
    ]
    # Good verdicts have double weight, because most reviews are positive.
    verdict_weight = _zipf(len(verdict)) * [2 if sign == "good" else 1 for sign in verdict_sign]
    experience = _fitting("experience", _EXPERIENCE, sign_then, ("verdict", "link"))
    by_both = experience.logprobs.reshape(len(verdict), len(link), -1)
    return Grammar(
        (
            _free("opening", _OPENING, empty=0.6),
            _free("determiner", _DETERMINER),
            _free("kind", _KIND, empty=0.6),
            Slot("product", product, np.log(_zipf(len(product)))),
            _free("origin", _ORIGIN, empty=0.75),
            _free("verb", _VERB),
            _free("degree", _DEGREE, empty=0.5),
            Slot("verdict", verdict, np.log(verdict_weight / verdict_weight.sum())),
            Slot("link", link, np.log(_zipf(len(link)))),
            _fitting("aspect", _ASPECT, product_kind, ("product",)),
            replace(experience, logprobs=by_both),
            _fitting("occasion", _OCCASION, product_kind, ("product",), empty=0.6),
            _fitting("closing", _CLOSING, verdict_sign, ("verdict",), empty=0.6),
            _free("end", _END),
        )
    )


def contexts(decisions: Ints) -> list[str]:
    """Return the context of each review: its product and aspect."""
    slots = review_grammar().slots
    columns = {slot.name: (column, slot.phrases) for column, slot in enumerate(slots)}
    (product, products), (aspect, aspects) = columns["product"], columns["aspect"]
    return [
        f"{products[row[product]]} {aspects[row[aspect]].removeprefix('the ')}"
        for row in decisions.tolist()
    ]
