"""The trained listeners that Newman, Cohn-Gordon and Potts (2020) released.

Their two files are tensors by name. ``torch.load(weights_only=True)`` reads these and executes
nothing; the files' hashes are checked before.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from nlgbench.arrays import Floats
from nlgbench.datasets import cache, comm_eval, monroe
from nlgbench.datasets.color_contexts import hsl_to_rgb
from nlgbench.evaluators.listeners.features import COLOR, fourier, hsl_to_hsv
from nlgbench.evaluators.listeners.listeners import Listener, tabulate_scores
from nlgbench.status import Unsupported
from nlgbench.study import Study, csv_files
from nlgbench.training import torch

_FILES = {
    "literal": "comm-eval/literal_listener_5epoch_endings_tkn.params",
    "pragmatic": "comm-eval/literal_speaker_30epochGLOVE.params",
}
_UNITS = 100
_BATCH = 512

# Captions

_SENTENCE_END = re.compile(r"(?<=[.?!])(?<!\bst\.)(?<!\bok\.)\s+", re.IGNORECASE)
#: The rules of NLTK's tokenizer of words in 2019 that match in these captions, in its order.
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([:,])(\D|$)", r" \1 \2"),
        (r"\.\.\.", " ... "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"[\]\[(){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"$", " "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        (r"(?i)\b(gon|got)(na|ta)\b", r" \1 \2 "),
    )
]
_ENDED = re.compile(r"(.*)(er|est|ish)")


def caption_tokens(caption: str) -> list[str]:
    """Tokenize a caption as the authors did; endings are split off, however short the rest."""
    tokens: list[str] = []
    for sentence in _SENTENCE_END.split(caption):
        for pattern, replacement in _RULES:
            sentence = pattern.sub(replacement, sentence)
        for word in sentence.split():
            ended = _ENDED.fullmatch(word)
            tokens += [word] if ended is None else [ended[1], f"+{ended[2]}"]
    return tokens


def number_tokens(captions: Sequence[str]) -> dict[str, int]:
    """Assign numbers to tokens that occur at least twice, by first appearance."""
    tokenized = [caption_tokens(caption) for caption in captions]
    counts = Counter(token for tokens in tokenized for token in tokens)
    index: dict[str, int] = {}
    for tokens in tokenized:
        frequent = (token.lower() if counts[token] > 1 else "<unk>" for token in tokens)
        for token in ("<sos>", *frequent, "<eos>"):
            index.setdefault(token, len(index))
    return index


@functools.cache
def _training_tokens() -> dict[str, int]:
    train, _ = csv_files.parse(cache.path(monroe.RAW_FILES["train"]))
    return number_tokens(train["contents"].tolist())


# Contexts


def in_released_order(study: Study) -> Study:
    """Put each context's colors in the order of the released files: target first, then distractors.

    Loaded contexts are sorted so that their order does not reveal the target; the released speaker
    reads distractors in their order.
    """
    contexts = study.contexts
    if contexts is None:
        raise Unsupported("no_contexts", f"{study.name} has no contexts. {_WAY_OUT}")
    orders = _released_orders()
    rows: list[int] = []
    values = list(map(tuple, contexts[list(COLOR)].to_numpy(dtype=np.float64).tolist()))
    is_target = contexts["is_target"].to_numpy()
    for item, index in contexts.groupby("item_id", sort=False).indices.items():
        colors = [values[row] for row in index]
        target = next(values[row] for row in index if is_target[row])
        if (order := orders.get((target, frozenset(colors)))) is None:
            raise Unsupported(
                "no_contexts",
                f"contexts: item {item!r} of {study.name} has colors that are not in the comm-eval "
                f"release. {_WAY_OUT}",
            )
        rows += [index[colors.index(color)] for color in order]
    return study.replace(contexts=contexts.iloc[rows])


_WAY_OUT = (
    "The released listeners need the order of a context's colors, which only the release has. "
    "Score load('comm-eval') or its test rounds, or train listeners (train_listeners)."
)


@functools.cache
def _released_orders() -> dict[Any, tuple[Any, ...]]:
    """Return the order of colors in the released captions and test rounds, by target and colors."""
    orders = {}
    for file in (comm_eval.RAW_FILE, monroe.RAW_FILES["test"]):
        frame, _ = csv_files.parse(cache.path(file))
        for roles in np.unique(monroe.role_colors(frame), axis=0).tolist():
            target, first, second = map(tuple, roles)
            orders[target, frozenset([target, first, second])] = target, first, second
    return orders


# Networks


class _LiteralNetwork(torch.nn.Module):
    """Score colors by their distance from the region that a caption describes."""

    def __init__(self, n_words: int, n_features: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(n_words, _UNITS)
        self.lstm = torch.nn.LSTM(_UNITS, _UNITS, bidirectional=True, batch_first=True)
        self.mean = torch.nn.Linear(2 * _UNITS, n_features)
        self.covariance = torch.nn.Linear(2 * _UNITS, n_features**2)

    def forward(self, tokens: torch.Tensor, colors: torch.Tensor) -> torch.Tensor:
        """Return unnormalized log-probabilities of colors, for captions of one length."""
        caption = self.lstm(self.embed(tokens))[1][0].transpose(0, 1).flatten(1)
        away = colors - self.mean(caption)[:, None]
        matrix = self.covariance(caption).view(len(tokens), colors.shape[2], colors.shape[2])
        return -((away @ matrix) * away).sum(dim=2)


class _ColorEncoder(torch.nn.Module):
    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.color_lstm = torch.nn.LSTM(n_features, _UNITS, batch_first=True)


class _SpeakerNetwork(torch.nn.Module):
    """Compute the probability of a caption for each color in the target's place."""

    def __init__(self, n_words: int, n_features: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(n_words, _UNITS)
        self.color_encoder = _ColorEncoder(n_features)
        self.speaker_lstm = torch.nn.LSTM(2 * _UNITS, _UNITS, batch_first=True)
        self.linear = torch.nn.Linear(_UNITS, n_words)

    def forward(self, tokens: torch.Tensor, colors: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities of captions of one length, given each color."""
        embedded = self.embed(tokens[:, :-1])
        logprobs = []
        for target in range(colors.shape[1]):
            # The speaker reads the colors backward, from the target's neighbor to the target.
            ordered = colors.roll(-target, dims=1).flip(1)
            color = self.color_encoder.color_lstm(ordered)[1][0][-1]
            inputs = torch.cat([embedded, color[:, None].expand_as(embedded)], dim=2)
            words = self.linear(self.speaker_lstm(inputs)[0]).log_softmax(dim=2)
            logprobs.append(words.gather(2, tokens[:, 1:, None]).sum(dim=(1, 2)))
        return torch.stack(logprobs, dim=1)


_NETWORKS = {"literal": _LiteralNetwork, "pragmatic": _SpeakerNetwork}


class ReleasedListener(Listener):
    """A listener with the authors' weights: ``literal`` or ``pragmatic`` (of a speaker).

    `predict_proba` needs colors in the released order: see `in_released_order`.
    """

    seed = "released"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = f"{kind}@released"
        self._index = _training_tokens()
        weights = torch.load(cache.path(_FILES[kind]), weights_only=True)
        self._network = _NETWORKS[kind](len(self._index), 54)
        self._network.load_state_dict(weights)
        self._network.eval()

    def _recipe(self) -> str:
        return f"{self.kind} listener of Newman et al. (2020), released weights"

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return the probability of each color, (n, 3)."""
        colors = torch.from_numpy(self._features(np.asarray(contexts, dtype=np.float64))).float()
        unknown = self._index["<unk>"]
        rows = [
            [self._index.get(word.lower(), unknown) for word in caption_tokens(caption)]
            for caption in captions
        ]
        rows = [[self._index["<sos>"], *row, self._index["<eos>"]] for row in rows]
        probabilities = np.empty(colors.shape[:2])
        lengths = np.array([len(row) for row in rows])
        with torch.inference_mode():
            for length in np.unique(lengths):
                same = np.flatnonzero(lengths == length)
                for chosen in np.array_split(same, -(-len(same) // _BATCH)):
                    tokens = torch.tensor([rows[row] for row in chosen])
                    logits = self._network(tokens, colors[chosen])
                    probabilities[chosen] = logits.softmax(dim=1).numpy()
        return probabilities

    def _features(self, contexts: Floats) -> Floats:
        """Return Fourier features of RGB or HSV; all coordinates but hue are halved."""
        if self.kind == "literal":
            return fourier(np.round(hsl_to_rgb(contexts) * 256) / 512)
        return fourier(hsl_to_hsv(contexts) / (1, 2, 2))


def score_released(study: Study, names: Sequence[str]) -> pd.DataFrame:
    """Score a study's outputs with released listeners: a row per name and output."""
    listeners = {name: ReleasedListener(name.partition("@")[0]) for name in names}
    return tabulate_scores(in_released_order(study), listeners)
