"""Listeners that are trained: literal, pragmatic, and context-aware. `fit` says how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from nlgbench.evaluators.listeners.caption_words import (
    LONGEST,
    UNKNOWN,
    caption_text,
    caption_tokens,
    encode,
    may_follow,
)
from nlgbench.evaluators.listeners.contexts import check_proba, check_targets
from nlgbench.evaluators.listeners.networks import (
    ContextNetwork,
    LiteralNetwork,
    SpeakerNetwork,
    Speech,
    any_order,
)
from nlgbench.evaluators.listeners.trained import NeuralListener
from nlgbench.training import Batch, predict, seeded, torch

Floats = NDArray[np.float64]


class LiteralListener(NeuralListener):
    """Take a caption at its word: a region of states, whatever the others are.

    Parameters, attributes and rules are those of `NeuralListener`.

    Notes
    -----
    ``softmax(-(f - mean)' Sigma (f - mean))`` over states f, with Sigma positive semi-definite and
    both read from the caption by an LSTM: equation 3 of Newman, Cohn-Gordon and Potts (2020,
    arXiv:1909.07290), after Monroe et al. (2017, doi:10.1162/tacl_a_00064).

    Examples
    --------
    >>> red, green = [0, 90, 50], [120, 90, 50]
    >>> rounds = [[red, green]] * 200, ["red", "green"] * 100, [0, 1] * 100
    >>> listener = LiteralListener(seed=0, epochs=4).fit(*rounds)
    >>> listener.predict_proba([[green, red]], ["red"]).argmax(axis=1)
    array([1])
    """

    _network = LiteralNetwork


class ContextListener(NeuralListener):
    """Hear a caption while looking at every state beside its rivals.

    Parameters, attributes and rules are those of `NeuralListener`.

    Notes
    -----
    An LSTM reads the caption once per state, with a summary of that state and the others beside
    each word, and ends in one score. It is the same network for every state, so no order of states
    plays a part. Unlike the literal listener it can learn which states are meant more often before
    anything is said, as from contexts in which one state is never the target.

    Examples
    --------
    >>> red, pink = [0, 90, 50], [0, 50, 50]
    >>> rounds = [[red, pink]] * 200, ["strong", "pale"] * 100, [0, 1] * 100
    >>> listener = ContextListener(seed=0, epochs=4).fit(*rounds)
    >>> listener.predict_proba([[pink, red]], ["pale"]).argmax(axis=1)
    array([0])
    """

    _network = ContextNetwork
    _units = 160


class PragmaticListener(NeuralListener):
    """Ask of which state a speaker would have said this: Bayes' rule on a language model.

    Parameters, attributes and rules are those of `NeuralListener`.

    Notes
    -----
    ``L(w | u)`` is proportional to ``P(u | w) P(w)``, where an LSTM gives the probability of the
    caption u with w as the target among the others (Newman, Cohn-Gordon and Potts 2020, section
    5.2). The others come in random order in training; afterwards probabilities are averaged over
    their orders: both where states are three, the rotations of a sorted order where more.

    The paper calls its prior over utterances uniform. Whatever it is, a weight of u alone is the
    same for every state, and cancels. It matters where captions are chosen from a list:
    ``utterances`` of `predict_proba`.

    Examples
    --------
    >>> red, green = [0, 90, 50], [120, 90, 50]
    >>> rounds = [[red, green]] * 200, ["red", "green"] * 100, [0, 1] * 100
    >>> listener = PragmaticListener(seed=0, epochs=4).fit(*rounds)
    >>> listener.predict_proba([[green, red]], ["red"]).argmax(axis=1)
    array([1])
    >>> listener.speak([[green, red]], [1], seed=0)["caption"].item()
    'red'
    """

    _network = SpeakerNetwork

    def _loss(self, network: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """Give nats per caption, with a random order of states; with all, where not in training."""
        tokens, states, targets = batch
        speaker: Any = network
        if network.training:
            return -speaker.logprob(tokens, any_order(states, targets)).mean()
        return -speaker.mean_over_orders(tokens, states, targets).mean()

    def predict_proba(
        self,
        contexts: ArrayLike,
        captions: Sequence[str],
        *,
        states_prior: ArrayLike | None = None,
        utterances: Mapping[str, float] | None = None,
    ) -> Floats:
        """Say which state each caption means.

        Parameters
        ----------
        contexts, captions
            As in `fit`.
        states_prior : array-like of shape (n, n_states), optional
            P(w): rows with sum one. Default: uniform.
        utterances : mapping of str to float, optional
            Prior over utterances: the captions that a speaker chooses from, and weights above 0.
            Then ``P(u | w)`` is ``p(u | w) weight(u)``, divided by its sum over them. Default:
            every text, equally weighted, so that ``P`` is the language model's ``p``.

        Returns
        -------
        ndarray of shape (n, n_states)
            Probabilities; rows sum to one. ``P(u | w)`` is raised to 1 / `temperature` before the
            prior of states comes in. Without a token, a caption leaves the prior as it is.

        Raises
        ------
        ValueError
            When it is not trained, a prior is none, or as `fit`.
        """
        proba = super().predict_proba(contexts, captions)
        if utterances is not None and len(proba):
            if not utterances or not all(0 < weight < np.inf for weight in utterances.values()):
                raise ValueError("utterances must hold a caption, each with a weight above 0.")
            proba = self._among(proba, contexts, captions, utterances)
        if states_prior is None:
            return proba
        prior = check_proba(states_prior, n=len(proba), n_states=proba.shape[1])
        with np.errstate(divide="ignore"):
            return softmax(np.log(proba) + np.log(prior), axis=1)

    def _among(
        self,
        proba: Floats,
        contexts: ArrayLike,
        captions: Sequence[str],
        utterances: Mapping[str, float],
    ) -> Floats:
        """Divide by how probable a state makes all that might have been said."""
        states = self._states(contexts, captions)
        n, n_states, _ = states.shape
        sums = np.full((n, n_states), -np.inf)
        for text, weight in utterances.items():
            tokens = torch.from_numpy(encode([text] * n, self.words))
            found = predict(self.network, (tokens, states), threads=self.threads)
            sums = np.logaddexp(sums, found.double().numpy() + np.log(weight))
        said = np.array([bool(caption_tokens(caption)) for caption in captions])
        return softmax(np.log(proba) - said[:, None] * sums / self.temperature, axis=1)

    def speak(
        self,
        contexts: ArrayLike,
        targets: ArrayLike,
        *,
        temperature: float = 1.0,
        seed: int | np.random.Generator,
    ) -> pd.DataFrame:
        """Draw a caption of the target in each context.

        Parameters
        ----------
        contexts : array-like of shape (n, n_states, n_features)
            As in `fit`.
        targets : array-like of shape (n,)
            Position of the state to speak of.
        temperature : float
            Divides the logits of each next word. It is the speaker's, not the listener's.
        seed : int or Generator
            Where the random numbers come from.

        Returns
        -------
        DataFrame
            caption (1 to 40 tokens, none unknown), logprob (nats, of the whole caption and its end,
            under the speaker at this temperature) and n_tokens, without the end.

        Raises
        ------
        ValueError
            When it is not trained, a state or target is none, or the temperature not above 0.

        Notes
        -----
        A caption is drawn with the probability that `caption_logprob` gives: the average over
        orders of the other states.
        """
        states, target, speech = self._speaker(contexts, targets, temperature)
        with seeded(seed, threads=self.threads) as generator, torch.no_grad():
            tokens, logprob = self.network.sample(states, target, speech, generator)
        rows = [[self.words[at] for at in row if at > UNKNOWN + 2] for row in tokens.tolist()]
        return pd.DataFrame(
            {
                "caption": [caption_text(row) for row in rows],
                "logprob": logprob.double().numpy(),
                "n_tokens": [len(row) for row in rows],
            }
        )

    def caption_logprob(
        self,
        contexts: ArrayLike,
        targets: ArrayLike,
        captions: Sequence[str],
        *,
        temperature: float = 1.0,
    ) -> Floats:
        """Give the log-probability with which `speak` says captions.

        Parameters
        ----------
        contexts, targets, temperature
            As in `speak`.
        captions : sequence of str
            One per context; case and spacing do not matter.

        Returns
        -------
        ndarray of shape (n,)
            Nats, of whole captions and their ends. Minus infinity for what is never said: an
            unknown word, no token, more than 40.

        Raises
        ------
        ValueError
            As `speak`.
        """
        states, target, speech = self._speaker(contexts, targets, temperature)
        tokens = torch.from_numpy(encode(captions, self.words))
        states_of = self._states(contexts, captions)
        parts = torch.arange(len(states_of)).split(256)
        self.network.eval()
        with seeded(0, threads=self.threads), torch.no_grad():
            found = [
                self.network.mean_over_orders(tokens[at], states[at], target[at], speech)
                for at in parts
            ]
        logprob = torch.cat(found).double().numpy()
        too_long = [len(caption_tokens(caption)) > LONGEST for caption in captions]
        return np.where(too_long, -np.inf, logprob)

    def _speaker(
        self, contexts: ArrayLike, targets: ArrayLike, temperature: float
    ) -> tuple[torch.Tensor, torch.Tensor, Speech]:
        if not 0 < temperature < np.inf:
            raise ValueError(f"temperature must be above 0, and finite. Got {temperature}.")
        _, states = self._inputs(contexts, [""] * len(np.asarray(contexts)))
        target = torch.from_numpy(check_targets(targets, *states.shape[:2]))
        return states, target, Speech(torch.from_numpy(may_follow(self.words)), temperature)
