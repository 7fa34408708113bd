"""Deep discriminators: an LSTM, a CNN, and an LSTM on top of a CNN."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold

from nlgbench.arrays import Seed
from nlgbench.training import Batch, fit, predict, seeded, torch

_EMBEDDING, _UNITS, _DROPOUT = 64, 100, 0.5
_WIDTHS = (3, 4, 5)
_LONGEST, _EPOCHS, _PATIENCE = 60, 15, 3  # 15 epochs: ten folds take minutes on one core
_DEV_FOLDS = 10
_PADDING, _UNKNOWN = 0, 1

#: For signatures.
SETTINGS = (
    f"words, embedding {_EMBEDDING}, {_UNITS} units, dropout {_DROPOUT}, first {_LONGEST} words, "
    f"at most {_EPOCHS} epochs, patience {_PATIENCE}; "
    "balanced by weights; probability of human, not calibrated"
)


class _Network(torch.nn.Module):
    """Compute the log-odds that a text is human from its word indexes."""

    def __init__(self, architecture: str, n_words: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(n_words, _EMBEDDING, padding_idx=_PADDING)
        widths = {"lstm": (), "cnn": _WIDTHS, "cnn_lstm": (_WIDTHS[0],)}[architecture]
        self.convolve = torch.nn.ModuleList(
            torch.nn.Conv1d(_EMBEDDING, _UNITS, width, padding=width - 1) for width in widths
        )
        self.recur = None
        if architecture != "cnn":
            self.recur = torch.nn.LSTM(_UNITS if widths else _EMBEDDING, _UNITS, batch_first=True)
        self.drop = torch.nn.Dropout(_DROPOUT)
        self.weigh = torch.nn.Linear(_UNITS * max(len(widths), 1), 1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        lengths = (tokens != _PADDING).sum(dim=1)
        tokens = tokens[:, : int(lengths.max())]
        states = self.drop(self.embed(tokens))
        # Transpose once: otherwise each convolution makes a copy, and another for its gradient.
        columns = states.transpose(1, 2).contiguous() if self.convolve else states
        maps = [conv(columns) for conv in self.convolve]
        if self.recur is None:
            # Windows of padding alone must not be the maximum. ReLU commutes with the maximum,
            # and applying it last takes a fraction of the time.
            largest = [_mask_tail(features, lengths).amax(dim=2) for features in maps]
            pooled = torch.cat(largest, dim=1).relu()
        else:
            if maps:
                states = maps[0].relu().transpose(1, 2)
                lengths = lengths + _WIDTHS[0] - 1
            steps, _ = self.recur(states)
            pooled = steps[torch.arange(len(tokens)), lengths - 1]
        return self.weigh(self.drop(pooled)).squeeze(1)


def _mask_tail(maps: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Zero the windows that lie entirely in the padding; zero is the minimum after ReLU."""
    extra = maps.shape[2] - int(lengths.max())
    return maps * (torch.arange(maps.shape[2]) < (lengths + extra)[:, None])[:, None]


def score_neural(
    architecture: str,
    texts: Sequence[Sequence[str]],
    labels: ArrayLike,
    unseen: Sequence[Sequence[str]],
    *,
    seed: Seed,
) -> NDArray[np.float64]:
    """Train a deep discriminator on texts (lists of words), and score unseen ones.

    ``lstm``: the last state of an LSTM. ``cnn``: the maximum of each filter over windows of 3, 4
    and 5 words (Kim 2014, doi:10.3115/v1/D14-1181). ``cnn_lstm``: an LSTM over filters of 3 words
    (after Zhou et al. 2015, arXiv:1511.08630). A tenth of `texts` is held out for early stopping,
    so all scores are NaN if a class has one distinct text. Words of only one text share an unknown
    token. `SETTINGS` are not tuned; Garbacea et al. (2019) report none.

    >>> texts = [["good", str(n)] for n in range(30)] + [["bad", str(n)] for n in range(30)]
    >>> scores = score_neural("cnn", texts, [1] * 30 + [0] * 30, [["good"], ["bad"]], seed=0)
    >>> bool(scores[0] > scores[1])
    True
    """
    rng = np.random.default_rng(seed)
    is_human = np.asarray(labels, dtype=np.float64)
    groups = np.unique([" ".join(tokens) for tokens in texts], return_inverse=True)[1]
    n_distinct = min(len(np.unique(groups[is_human == label])) for label in (0, 1))
    if n_distinct < 2:
        return np.full(len(unseen), np.nan)
    folds = StratifiedGroupKFold(
        min(_DEV_FOLDS, n_distinct), shuffle=True, random_state=int(rng.integers(2**31))
    )
    train, dev = next(folds.split(groups, is_human, groups))
    counts = Counter(word for row in train for word in set(texts[row]))
    frequent = sorted(word for word, n_texts in counts.items() if n_texts > 1)
    index = {word: position for position, word in enumerate(frequent, 2)}
    tokens = _indexes(texts, index)
    target = torch.tensor(is_human, dtype=torch.float32)
    share = float(is_human[train].mean())
    weight = torch.where(target == 1, 0.5 / share, 0.5 / (1 - share))
    rows = (tokens, target, weight)
    number = int(rng.integers(2**31))
    with seeded(number):
        network = _Network(architecture, len(index) + 2)
    fit(
        network,
        [tensor[torch.from_numpy(train)] for tensor in rows],
        loss=_loss,
        dev=[tensor[torch.from_numpy(dev)] for tensor in rows],
        epochs=_EPOCHS,
        patience=_PATIENCE,
        seed=number,
    )
    logit = predict(network, [_indexes(unseen, index)])
    return torch.sigmoid(logit.double()).numpy()


def _indexes(texts: Sequence[Sequence[str]], index: dict[str, int]) -> torch.Tensor:
    """Return padded word indexes; an empty text becomes one unknown word."""
    padded = torch.full((len(texts), _LONGEST), _PADDING)
    for row, tokens in enumerate(texts):
        indexes = [index.get(word, _UNKNOWN) for word in tokens[:_LONGEST]] or [_UNKNOWN]
        padded[row, : len(indexes)] = torch.tensor(indexes)
    return padded


def _loss(network: torch.nn.Module, batch: Batch) -> torch.Tensor:
    tokens, target, weight = batch
    return torch.nn.functional.binary_cross_entropy_with_logits(
        network(tokens), target, weight=weight
    )
