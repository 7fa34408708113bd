"""What all listeners in torch share: how they are trained, calibrated, saved and asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench.evaluators.listeners.calibration import calibration, fit_temperature, temper
from nlgbench.evaluators.listeners.caption_words import encode, read_word_vectors, vocabulary
from nlgbench.evaluators.listeners.color_features import SPACES, fourier_features
from nlgbench.evaluators.listeners.contexts import check_contexts, check_targets
from nlgbench.text import check_n
from nlgbench.training import Batch, digest, fit, load, predict, save, seeded, torch

Floats = NDArray[np.float64]
Rounds = tuple[ArrayLike, Sequence[str], ArrayLike]

_EMBEDDING, _BATCH, _MAX_NORM = 100, 64, 5.0
#: Rounds of dev on which the epoch is chosen.
_FOLLOWED = 3_000


class NeuralListener:
    """A listener in torch; use `LiteralListener`, `PragmaticListener` or `ContextListener`.

    Parameters
    ----------
    seed : int or Generator
        Where starting weights, the order of rounds and dropout come from.
    features : {"hsv", "rgb", "raw"}
        How a network sees states: as Fourier features of HSL colors (`fourier_features`), or as the
        numbers given, which then should be of order 1.
    epochs : int
        Passes over the rounds at most.
    learning_rate : float
        The highest of Adam's, which rises and falls once (one cycle).
    units : int, optional
        Of each LSTM. Default: 200; 160 for the context-aware listener, which reads a caption once
        per state.
    word_vectors : path, optional
        A text file as GloVe's: words in it start there, in as many dimensions; others, and all
        words without it, at random (100 dimensions). All are trained on.
    threads : int
        Threads of torch.

    Attributes
    ----------
    words : list of str
        The vocabulary: tokens that two captions or more of the training rounds hold.
    temperature : float
        Fitted on dev; 1 without dev. Probabilities are raised to its inverse.
    history : DataFrame
        A row per epoch: epoch, train_loss (with dropout; the pragmatic listener's is of captions),
        dev_loss (nats; log loss of the target, at the temperature that is best then),
        dev_accuracy, is_kept. Dev is followed on 3,000 rounds at most, evenly spaced.
    calibrated : DataFrame
        `calibration` on dev, with a column stage: before and after the temperature; empty without
        dev. The temperature was fitted on the same rounds, so other rounds are the fair measure.

    Notes
    -----
    Batches of 64, dropout .3, gradients clipped to norm 5, weights of the epoch with the lowest
    dev_loss. All epochs are run, as the rate rises and falls once over all. Dev should hold no
    context that is evaluated later: `contexts.is_unseen`.

    A caption without a token says nothing: every state is equally probable. Tokens that training
    did not know are all one word, which means what rare words mean. Of a caption, 40 tokens are
    read. Listeners trained on contexts of three states take others, with no promise.
    """

    _network: Callable[..., torch.nn.Module]
    _units = 200

    def __init__(
        self,
        *,
        seed: int | np.random.Generator,
        features: str = "hsv",
        epochs: int = 8,
        learning_rate: float = 4e-3,
        units: int | None = None,
        word_vectors: str | os.PathLike | None = None,
        threads: int = 1,
    ) -> None:
        if features not in (*SPACES, "raw"):
            raise ValueError(
                f"features {features!r} is unknown. There are: {', '.join((*SPACES, 'raw'))}."
            )
        units = self._units if units is None else units
        check_n(units, "units")
        self.features, self.epochs, self.learning_rate = features, epochs, learning_rate
        self.units, self.threads, self.word_vectors = units, threads, word_vectors
        self._seed = int(np.random.default_rng(seed).integers(2**62))
        self.words: list[str] = []
        self.temperature = 1.0
        self.history = pd.DataFrame()
        self.calibrated = pd.DataFrame()
        self.network: Any = None

    def fit(
        self,
        contexts: ArrayLike,
        captions: Sequence[str],
        targets: ArrayLike,
        *,
        dev: Rounds | None = None,
        checkpoint: str | os.PathLike | None = None,
        progress: Callable[[dict[str, float]], object] | None = None,
    ) -> Self:
        """Train on rounds, and calibrate on others.

        Parameters
        ----------
        contexts : array-like of shape (n, n_states, n_features)
            States as they are: colors in HSL (0-360, 0-100, 0-100).
        captions : sequence of str
            One per round.
        targets : array-like of shape (n,)
            Position of the state that was meant.
        dev : tuple of (contexts, captions, targets), optional
            Rounds to choose the epoch and the temperature on.
        checkpoint : path, optional
            Where weights are kept: read when they were trained by the same class with the same
            options, seed, rounds, starting weights and torch; else written after training.
        progress : callable, optional
            Called with the history's row after each epoch.

        Returns
        -------
        NeuralListener
            Itself.

        Raises
        ------
        ValueError
            When lengths disagree, a state is out of range, a target is none, or the checkpoint is
            broken or not one of nlgbench.
        """
        self.words = vocabulary(captions)
        rows = self._rounds(contexts, captions, targets)
        held = None if dev is None else self._rounds(*dev)
        self._build(rows[1].shape[2])
        asked = self._asked() | {
            "data": digest({f"{n}": tensor for n, tensor in enumerate([*rows, *(held or [])])}),
            "start": digest(self.network.state_dict()),
            "torch": str(torch.__version__),
        }
        if checkpoint is not None and Path(checkpoint).exists():
            state, settings = load(checkpoint)
            if settings.get("asked") == asked:
                return self._restore(state, settings["found"])
        seen: list[tuple[float, float]] = []
        best: dict[str, torch.Tensor] = {}

        def follow(row: dict[str, float]) -> None:
            if held is not None:
                seen.append(self._followed(*held))
                row["dev_loss"], row["dev_accuracy"] = seen[-1]
                if np.argmin([loss for loss, _ in seen]) == len(seen) - 1:
                    state = self.network.state_dict()
                    best.update({name: value.clone() for name, value in state.items()})
            if progress is not None:
                progress(row)

        self.temperature, self.calibrated = 1.0, pd.DataFrame()
        self.history = fit(
            self.network,
            rows,
            loss=self._loss,
            epochs=self.epochs,
            batch_size=_BATCH,
            learning_rate=self.learning_rate,
            one_cycle=True,
            max_norm=_MAX_NORM,
            seed=self._seed,
            threads=self.threads,
            progress=follow,
        )
        if held is not None:
            self.network.load_state_dict(best)
            self.history[["dev_loss", "dev_accuracy"]] = seen
            self.history["is_kept"] = self.history.index == self.history["dev_loss"].idxmin()
            before, target = self._proba(*held[:2]), held[2].numpy()
            self.temperature = fit_temperature(before, target)
            after = temper(before, self.temperature)
            stages = {"before": before, "after": after}
            self.calibrated = pd.concat(
                [calibration(proba, target).assign(stage=name) for name, proba in stages.items()],
                ignore_index=True,
            )
        if checkpoint is not None:
            save(self.network, checkpoint, {"asked": asked, "found": self._found()})
        return self

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Say which state each caption means.

        Parameters
        ----------
        contexts, captions
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, n_states)
            Probabilities at `temperature`; rows sum to one, and equal 1 / n_states where a caption
            has no token.

        Raises
        ------
        ValueError
            When it is not trained, or as `fit`.
        """
        tokens, states = self._inputs(contexts, captions)
        if not len(tokens):
            return np.empty((0, states.shape[1]))
        return temper(self._proba(tokens, states), self.temperature)

    def _followed(
        self, tokens: torch.Tensor, states: torch.Tensor, targets: torch.Tensor
    ) -> tuple[float, float]:
        """Return log loss at the best temperature, and accuracy, on evenly spaced rounds."""
        step = -(-len(tokens) // _FOLLOWED)
        proba, target = self._proba(tokens[::step], states[::step]), targets[::step].numpy()
        measures = calibration(temper(proba, fit_temperature(proba, target)), target)
        accuracy, nll, _ = measures["estimate"]
        return nll, accuracy

    def _proba(self, tokens: torch.Tensor, states: torch.Tensor) -> Floats:
        """Return probabilities at temperature 1."""
        order = (tokens != 0).sum(dim=1).argsort(stable=True)  # short ones together are quick
        rows = (tokens[order], states[order])
        logit = torch.empty(states.shape[:2], dtype=torch.float64)
        logit[order] = predict(self.network, rows, threads=self.threads).double()
        logit[tokens[:, 1:].sum(dim=1) == 0] = 0  # nothing before the end
        below = logit - logit.amax(dim=1, keepdim=True)
        # Nothing is impossible: e**-700 is about the least that a float64 holds.
        return below.clamp(min=-700).softmax(dim=1).numpy()

    def _rounds(
        self, contexts: ArrayLike, captions: Sequence[str], targets: ArrayLike
    ) -> tuple[torch.Tensor, ...]:
        states = self._states(contexts, captions)
        target = check_targets(targets, *states.shape[:2])
        return torch.from_numpy(encode(captions, self.words)), states, torch.from_numpy(target)

    def _inputs(
        self, contexts: ArrayLike, captions: Sequence[str]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.network is None:
            raise ValueError(f"this {type(self).__name__} is not trained: call fit first.")
        states = self._states(contexts, captions)
        wanted = self._n_features
        if states.shape[2] != wanted:
            raise ValueError(f"states must have {wanted} features. Got {states.shape[2]}.")
        return torch.from_numpy(encode(captions, self.words)), states

    def _states(self, contexts: ArrayLike, captions: Sequence[str]) -> torch.Tensor:
        states = check_contexts(contexts, captions)
        if self.features != "raw":
            states = fourier_features(states, space=self.features)
        return torch.from_numpy(states).float()

    def _build(self, n_features: int) -> None:
        vectors = {}
        if self.word_vectors is not None:
            vectors = read_word_vectors(self.word_vectors, self.words)
        n_embedding = len(next(iter(vectors.values()))) if vectors else _EMBEDDING
        self._make(n_features, n_embedding)
        weights = self.network.words.embed.weight
        with torch.no_grad():
            for word, vector in vectors.items():
                weights[self.words.index(word)] = torch.from_numpy(vector)

    def _make(self, n_features: int, n_embedding: int) -> None:
        self._n_features = n_features
        with seeded(self._seed):
            self.network = self._network(len(self.words), n_features, n_embedding, self.units)

    def _loss(self, network: torch.nn.Module, batch: Batch) -> torch.Tensor:
        tokens, states, targets = batch
        return torch.nn.functional.cross_entropy(network(tokens, states), targets)

    def _asked(self) -> dict[str, Any]:
        names = ("features", "epochs", "learning_rate", "units")
        options = {name: getattr(self, name) for name in names}
        named = {"listener": type(self).__name__, "seed": self._seed, "words": self.words}
        return named | options

    def _found(self) -> dict[str, Any]:
        return {
            "n_features": self._n_features,
            "n_embedding": self.network.words.embed.embedding_dim,
            "temperature": self.temperature,
            "history": self.history.to_dict("split", index=False),
            "calibrated": self.calibrated.to_dict("split", index=False),
        }

    def _restore(self, state: dict[str, torch.Tensor], found: dict[str, Any]) -> Self:
        self.temperature = found["temperature"]
        self.history = pd.DataFrame(**found["history"])
        self.calibrated = pd.DataFrame(**found["calibrated"])
        self._make(found["n_features"], found["n_embedding"])
        self.network.load_state_dict(state)
        self.network.eval()
        return self

    @classmethod
    def load(cls, path: str | os.PathLike, *, threads: int = 1) -> Self:
        """Read a checkpoint that `fit` wrote.

        Parameters
        ----------
        path : path
            The file.
        threads : int
            Threads of torch.

        Returns
        -------
        NeuralListener
            As it was.

        Raises
        ------
        FileNotFoundError
            When there is none.
        ValueError
            When the file is broken, not one of nlgbench, or of another class.
        """
        state, settings = load(path)
        asked = settings.get("asked", {})
        if asked.get("listener") != cls.__name__:
            raise ValueError(
                f"{path} is no {cls.__name__}: it says {asked.get('listener')!r}. Load it with "
                "that class, or give another path."
            )
        options = {name: asked[name] for name in ("features", "epochs", "learning_rate", "units")}
        listener = cls(seed=0, threads=threads, **options)
        listener._seed, listener.words = asked["seed"], asked["words"]
        return listener._restore(state, settings["found"])
