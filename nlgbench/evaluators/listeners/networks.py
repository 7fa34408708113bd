"""Networks that score states given a caption: each state alone, or compared with the others."""

from __future__ import annotations

import math

import numpy as np

from nlgbench.evaluators.listeners.features import PADDING, START
from nlgbench.training import torch

_DROPOUT = 0.3


def _packed(inputs: torch.Tensor, lengths: torch.Tensor) -> torch.nn.utils.rnn.PackedSequence:
    return torch.nn.utils.rnn.pack_padded_sequence(
        inputs, lengths, batch_first=True, enforce_sorted=False
    )


def _lengths(tokens: torch.Tensor) -> torch.Tensor:
    return (tokens != PADDING).sum(dim=1)


class _CaptionReader(torch.nn.Module):
    """Read tokens, each with optional extra features, into the last state of an LSTM."""

    def __init__(self, n_words: int, n_embedding: int, n_extra: int, units: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(n_words, n_embedding, padding_idx=PADDING)
        self.recur = torch.nn.LSTM(n_embedding + n_extra, units, batch_first=True)
        self.drop = torch.nn.Dropout(_DROPOUT)

    def forward(self, tokens: torch.Tensor, extra: torch.Tensor | None = None) -> torch.Tensor:
        return self.drop(self.recur(self.inputs(tokens, extra, _lengths(tokens)))[1][0][-1])

    def inputs(
        self, tokens: torch.Tensor, extra: torch.Tensor | None, lengths: torch.Tensor
    ) -> torch.nn.utils.rnn.PackedSequence:
        """Embed packed tokens, which saves computation on padding."""
        tokens = tokens[:, : int(lengths.max())]
        packed = _packed(tokens, lengths)
        embedded = self.drop(self.embed(packed.data))
        if extra is not None:
            rows = torch.arange(len(tokens))[:, None].expand_as(tokens)
            embedded = torch.cat([embedded, extra[_packed(rows, lengths).data]], dim=1)
        return torch.nn.utils.rnn.PackedSequence(embedded, *packed[1:])


class LiteralNetwork(torch.nn.Module):
    """Score each state by its distance from the caption's predicted meaning.

    The score is ``-(f - mean)' Sigma (f - mean)``, Sigma = A'A, where mean and A are linear in the
    last state of an LSTM over the caption (Newman, Cohn-Gordon and Potts 2020, equation 3). The
    score of a state with features f does not depend on the other states.
    """

    def __init__(self, n_words: int, n_features: int, n_embedding: int, units: int) -> None:
        super().__init__()
        self.words = _CaptionReader(n_words, n_embedding, 0, units)
        self.mean = torch.nn.Linear(units, n_features)
        self.root = torch.nn.Linear(units, n_features * n_features)

    def forward(self, tokens: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return unnormalized log-probabilities of states, (n, n_states)."""
        caption = self.words(tokens)
        n_features = states.shape[2]
        root = self.root(caption).view(-1, n_features, n_features) / math.sqrt(n_features)
        away = states - self.mean(caption)[:, None]
        return -(away @ root.transpose(1, 2)).square().sum(dim=2)


class ContextNetwork(torch.nn.Module):
    """Score each state by an LSTM that reads the caption together with all states.

    The same network scores every state, from its features and from means and maxima over the
    others, so permuting the states permutes the scores.
    """

    def __init__(self, n_words: int, n_features: int, n_embedding: int, units: int) -> None:
        super().__init__()
        self.rival = torch.nn.Linear(3 * n_features, units)
        self.state = torch.nn.Linear(n_features + 2 * units, units)
        self.words = _CaptionReader(n_words, n_embedding, units, units)
        self.score = torch.nn.Linear(units, 1)

    def forward(self, tokens: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return unnormalized log-probabilities of states, (n, n_states)."""
        n, n_states, _ = states.shape
        first = states[:, :, None].expand(-1, -1, n_states, -1)
        second = states[:, None].expand(-1, n_states, -1, -1)
        compared = self.rival(torch.cat([first, second, first - second], dim=3)).relu()
        # Exclude each state from its own rivals; zero is the minimum after ReLU.
        compared = compared * (1 - torch.eye(n_states))[None, :, :, None]
        rivals = torch.cat([compared.sum(dim=2) / (n_states - 1), compared.amax(dim=2)], dim=2)
        extra = self.state(torch.cat([states, rivals], dim=2)).relu()
        read = self.words(tokens.repeat_interleave(n_states, dim=0), extra.view(n * n_states, -1))
        return self.score(read).view(n, n_states)


class SpeakerNetwork(torch.nn.Module):
    """Compute the probability of a caption, word by word, given the target among other states.

    One LSTM reads the states, the target last; another reads the caption, with the final output of
    the first at each word (Monroe, Hawkins, Goodman and Potts 2017). The forward pass returns the
    input of Bayes' rule: log-probabilities of the caption with each state as the target, averaged
    (as probabilities) over orders of the other states.
    """

    def __init__(self, n_words: int, n_features: int, n_embedding: int, units: int) -> None:
        super().__init__()
        self.look = torch.nn.LSTM(n_features, units, batch_first=True)
        self.words = _CaptionReader(n_words, n_embedding, units, units)
        self.next = torch.nn.Linear(units, n_words)

    def forward(self, tokens: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities of captions given each state, (n, n_states), in nats."""
        logprobs = [
            self.mean_over_orders(tokens, states, torch.full((len(tokens),), target))
            for target in range(states.shape[1])
        ]
        return torch.stack(logprobs, dim=1)

    def mean_over_orders(
        self, tokens: torch.Tensor, states: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """Return log-probabilities of captions, (n,), each given its own target."""
        logprobs = [self.logprob(tokens, order) for order in orders(states, targets)]
        return torch.stack(logprobs).logsumexp(dim=0) - math.log(len(logprobs))

    def logprob(self, tokens: torch.Tensor, ordered: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities of captions, (n,), given the last state as the target."""
        lengths = _lengths(tokens)
        tokens = tokens[:, : int(lengths.max())]
        before = torch.cat([torch.full((len(tokens), 1), START), tokens[:, :-1]], dim=1)
        inputs = self.words.inputs(before, self.look(ordered)[1][0][-1], lengths)
        logits = self.next(self.words.drop(self.words.recur(inputs)[0].data))
        losses = torch.nn.functional.cross_entropy(
            logits, _packed(tokens, lengths).data, reduction="none"
        )
        rows = torch.arange(len(tokens))[:, None].expand_as(tokens)
        return torch.zeros(len(tokens)).index_add(0, _packed(rows, lengths).data, -losses)


def orders(states: torch.Tensor, targets: torch.Tensor) -> list[torch.Tensor]:
    """Order states with the target last: all rotations of the others, sorted by their features.

    Sorting makes the result independent of the input order.
    """
    rank = np.lexsort(states.permute(2, 0, 1).numpy()).argsort(axis=1)
    keys = torch.from_numpy(rank).scatter(1, targets[:, None], states.shape[1])
    placed = _reorder(states, keys.argsort(dim=1))
    rivals, target = placed[:, :-1], placed[:, -1:]
    return [
        torch.cat([rivals.roll(shift, dims=1), target], dim=1) for shift in range(rivals.shape[1])
    ]


def random_order(states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Order states at random, with the target last."""
    keys = torch.rand(states.shape[:2]).scatter(1, targets[:, None], 2.0)
    return _reorder(states, keys.argsort(dim=1))


def _reorder(states: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    return states.gather(1, order[:, :, None].expand_as(states))
