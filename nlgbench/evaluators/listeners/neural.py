"""Neural listeners (literal, pragmatic, context-aware), and functions that train them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from nlgbench.arrays import Floats, Seed
from nlgbench.evaluators.listeners.features import (
    COLOR,
    context_keys,
    count_states,
    encode,
    feature_columns,
    fourier_features,
    keys_of_items,
    state_rows,
    vocabulary,
)
from nlgbench.evaluators.listeners.listeners import EnsembleListener, Listener, tabulate_scores
from nlgbench.evaluators.listeners.networks import (
    ContextNetwork,
    LiteralNetwork,
    SpeakerNetwork,
    random_order,
)
from nlgbench.evaluators.listeners.probabilities import fit_temperature, temper
from nlgbench.evaluators.stored import stored_dir
from nlgbench.hashing import value_hash
from nlgbench.names import known
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.training import Batch, digest, fit, load, predict, save, seeded, torch

Rounds = tuple[Floats, list[str], NDArray[np.int64]]

_EMBEDDING, _BATCH, _MAX_NORM = 100, 64, 5.0
#: Maximum number of dev rounds that select the epoch.
_N_DEV_ROUNDS = 3_000


class NeuralListener(Listener):
    """Base class of `LiteralListener`, `PragmaticListener` and `ContextListener`.

    `features` are Fourier features of HSL colors ("hsv"), or raw numbers of about 1.
    `learning_rate` is the maximum of one cycle of Adam; `units` are those of each LSTM (default:
    160 for the context-aware listener, 200 for others). `temperature`, fitted on dev rounds,
    divides log-probabilities. Training uses batches of 64, dropout .3 and gradients clipped to norm
    5; the dev loss at its best temperature selects the epoch. An empty caption makes all states
    equally likely.
    """

    kind: ClassVar[str]
    _network: ClassVar[Callable[..., torch.nn.Module]]
    _units = 200

    def __init__(
        self,
        *,
        seed: Seed,
        features: str = "hsv",
        epochs: int = 8,
        learning_rate: float = 4e-3,
        units: int | None = None,
    ) -> None:
        self.name = self.kind
        self.features, self.epochs, self.learning_rate = features, epochs, learning_rate
        self.units = self._units if units is None else units
        self.seed = seed if isinstance(seed, int) else None
        self._seed = int(np.random.default_rng(seed).integers(2**62))
        self.words: list[str] = []
        self.temperature = 1.0
        self.network: Any = None
        self._data = ""
        self._last: tuple[str, Floats] = ("", np.empty((0, 0)))

    def _recipe(self) -> str:
        return (
            f"{self.kind} listener, epochs:{self.epochs}, units:{self.units}, seed:{self._seed}, "
            f"rounds:{self._data[:8]}"
        )

    def fit(
        self,
        contexts: ArrayLike,
        captions: Sequence[str],
        targets: ArrayLike,
        *,
        dev: tuple[ArrayLike, Sequence[str], ArrayLike] | None = None,
        folder: Path | None = None,
    ) -> Self:
        """Train on rounds; select the epoch and fit the temperature on `dev`.

        `contexts` are features of states, (n, n_states, n_features); `targets` are the positions of
        the target states. Weights trained with the same options, rounds and torch version are read
        from `folder`, if it has them; otherwise they are written there.
        """
        self.words = vocabulary(captions)
        rows = self._rounds(contexts, captions, targets)
        held = None if dev is None else self._rounds(*dev)
        learned = [np.asarray(contexts), *([] if dev is None else [np.asarray(dev[0])])]
        self.seen = frozenset(key for rounds in learned for key in context_keys(rounds))
        self._n_features = rows[1].shape[2]
        self._last = ("", np.empty((0, 0)))
        with seeded(self._seed):
            size = len(self.words), self._n_features, _EMBEDDING, self.units
            self.network = type(self)._network(*size)
        self._data = digest({f"{n}": tensor for n, tensor in enumerate([*rows, *(held or [])])})
        start = digest(self.network.state_dict())
        recipe = [start, self._data, self.words, self.epochs, self.learning_rate, torch.__version__]
        name = f"listener-{self.kind}-{value_hash(recipe)[:12]}.safetensors"
        if folder is not None and (folder / name).exists():
            state, metadata = load(folder / name)
            self.temperature = metadata["temperature"]
            self.network.load_state_dict(state)
            self.network.eval()
            return self
        lowest = np.inf
        best: dict[str, torch.Tensor] = {}

        def keep_best(_: dict[str, float]) -> None:
            nonlocal lowest
            if held is not None and (loss := self._dev_loss(*held)) < lowest:
                lowest = loss
                state = self.network.state_dict()
                best.update({name: value.clone() for name, value in state.items()})

        self.temperature = 1.0
        fit(
            self.network,
            rows,
            loss=self._loss,
            epochs=self.epochs,
            batch_size=_BATCH,
            learning_rate=self.learning_rate,
            one_cycle=True,
            max_norm=_MAX_NORM,
            seed=self._seed,
            progress=keep_best,
        )
        if held is not None:
            self.network.load_state_dict(best)
            self.temperature = fit_temperature(self._proba(*held[:2]), held[2].numpy())
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            save(self.network, folder / name, {"temperature": self.temperature})
        return self

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return probabilities of states, (n, n_states), at `temperature`; rows sum to one."""
        tokens, states = self._inputs(contexts, captions)
        if states.shape[2] != self._n_features:
            raise ValueError(
                f"states must have {self._n_features} features. Got {states.shape[2]}."
            )
        # Scores, ensembles and beliefs repeat the same query, so the last result is cached.
        query = digest({"tokens": tokens, "states": states})
        if self._last[0] != query:
            self._last = query, self._proba(tokens, states)
        return temper(self._last[1], self.temperature)

    def _dev_loss(self, tokens: torch.Tensor, states: torch.Tensor, targets: torch.Tensor) -> float:
        """Return log loss at the best temperature, on evenly spaced rounds."""
        step = -(-len(tokens) // _N_DEV_ROUNDS)
        proba, target = self._proba(tokens[::step], states[::step]), targets[::step].numpy()
        best = temper(proba, fit_temperature(proba, target))
        return float(-np.log(best[np.arange(len(best)), target]).mean())

    def _proba(self, tokens: torch.Tensor, states: torch.Tensor) -> Floats:
        """Return probabilities at temperature 1."""
        order = (tokens != 0).sum(dim=1).argsort(stable=True)  # similar lengths save padding
        rows = (tokens[order], states[order])
        logit = torch.empty(states.shape[:2], dtype=torch.float64)
        logit[order] = predict(self.network, rows).double()
        logit[tokens[:, 1:].sum(dim=1) == 0] = 0  # empty captions
        below = logit - logit.amax(dim=1, keepdim=True)
        # Keep probabilities above 0: e**-700 is near the smallest float64.
        return below.clamp(min=-700).softmax(dim=1).numpy()

    def _rounds(
        self, contexts: ArrayLike, captions: Sequence[str], targets: ArrayLike
    ) -> tuple[torch.Tensor, ...]:
        return *self._inputs(contexts, captions), torch.from_numpy(np.asarray(targets))

    def _inputs(
        self, contexts: ArrayLike, captions: Sequence[str]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        states = np.asarray(contexts, dtype=np.float64)
        if self.features == "hsv":
            states = fourier_features(states)
        tokens = torch.from_numpy(encode(captions, self.words))
        return tokens, torch.from_numpy(states).float()

    def _loss(self, network: torch.nn.Module, batch: Batch) -> torch.Tensor:
        tokens, states, targets = batch
        return torch.nn.functional.cross_entropy(network(tokens, states), targets)


class LiteralListener(NeuralListener):
    """Interpret a caption literally, as a region of states, regardless of the alternatives.

    Probabilities are ``softmax(-(f - mean)' Sigma (f - mean))`` over states f, where an LSTM
    predicts mean and Sigma from the caption: equation 3 of Newman, Cohn-Gordon and Potts (2020,
    arXiv:1909.07290), after Monroe et al. (2017, doi:10.1162/tacl_a_00064).
    """

    kind = "literal"
    _network = LiteralNetwork


class ContextListener(NeuralListener):
    """Interpret a caption while comparing every state with the other states.

    An LSTM reads the caption once per state, with a summary of that state and the others.
    """

    kind = "context"
    _network = ContextNetwork
    _units = 160


class PragmaticListener(NeuralListener):
    """Infer which state a speaker would describe this way, by Bayes' rule and a language model.

    ``L(w | u)`` is proportional to ``P(u | w) P(w)``, where an LSTM gives the probability of the
    caption u with w as the target among the others (Newman, Cohn-Gordon and Potts 2020, section
    5.2), averaged over orders of the others.
    """

    kind = "pragmatic"
    _network = SpeakerNetwork

    def _loss(self, network: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """Return nats per caption: for one random order of states in training, else for all."""
        tokens, states, targets = batch
        speaker: Any = network
        if network.training:
            return -speaker.logprob(tokens, random_order(states, targets)).mean()
        return -speaker.mean_over_orders(tokens, states, targets).mean()


KINDS: dict[str, type[NeuralListener]] = {
    listener.kind: listener for listener in (LiteralListener, PragmaticListener, ContextListener)
}


@checked
def train_listeners(
    study: Study,
    names: Sequence[str] = tuple(KINDS),
    *,
    epochs: int = 8,
    units: int | None = None,
    n_jobs: int = 1,
    seed: int | np.random.Generator = 0,
    keep: str | os.PathLike | bool | None = None,
) -> dict[str, Listener]:
    """Train listeners on the rounds that belong to a study.

    Parameters
    ----------
    study : Study
        The study to score later. Listeners train on ``related["train"]``; the optional
        ``related["dev"]`` is for model selection and calibration. Rounds with the same states as a
        context of `study` are left out.
    names : sequence of str
        ``literal``, ``pragmatic``, ``context``, with a number for several of a kind (``literal_0``,
        ``literal_1``); ``ensemble`` is the mean of the others.
    epochs : int, default 8
        Passes over the training rounds.
    units : int, optional
        Units of each LSTM. Default: 160 for the context-aware listener, 200 for the others.
    n_jobs : int, default 1
        Number of processes; each trains on one thread.
    seed : int or Generator
        Seed of all random numbers; listener ``literal_2`` uses ``seed + 2``.
    keep : path or True, optional
        A folder for weights, reused while rounds and options are unchanged. True: the user's cache.

    Returns
    -------
    dict of str to Listener
        Fitted listeners by name. They refuse to score contexts that they were trained on.

    Raises
    ------
    ValueError
        If a name is unknown, or the study has no contexts or no training rounds.

    Examples
    --------
    >>> from nlgbench.worlds.simulated import simulate
    >>> study = simulate("colors", n_contexts=6, n_rounds={"train": 300, "dev": 90}, seed=0)
    >>> listeners = train_listeners(study, ["literal", "ensemble"], epochs=1, units=10)
    >>> listeners["literal"].score_outputs(study).between(0, 1).all()
    np.True_
    """
    parsed = {name: _parse_name(name) for name in names}
    members = {name: kind for name, kind in parsed.items() if kind[0] != "ensemble"}
    if not members and parsed:
        members = {kind: (kind, 0) for kind in KINDS}
    train, dev = _training_rounds(study)
    assert study.contexts is not None  # _training_rounds checks this
    features = "hsv" if feature_columns(study.contexts) == list(COLOR) else "raw"
    kws: dict[str, Any] = {"epochs": epochs, "units": units, "features": features}
    first = int(seed.integers(2**31) if isinstance(seed, np.random.Generator) else seed)
    folder = stored_dir() if keep is True else Path(keep) if keep else None
    jobs = []
    for name, (kind, number) in members.items():
        listener = KINDS[kind](seed=first + number, **kws)
        listener.name = name
        jobs.append(delayed(listener.fit)(*train, dev=dev, folder=folder))
    trained = dict(zip(members, Parallel(n_jobs=n_jobs)(jobs), strict=True))
    return {
        name: trained[name] if name in trained else EnsembleListener(list(trained.values()))
        for name in parsed
    }


def _parse_name(name: str) -> tuple[str, int]:
    """Parse a listener's name into its kind and number."""
    match = re.fullmatch(r"([a-z]+?)(?:_listener)?(?:[_@](\d+))?", name)
    kind, number = (match[1], int(match[2] or 0)) if match else (name, 0)
    return known(kind, (*KINDS, "ensemble"), "listeners"), number


def _training_rounds(study: Study) -> tuple[Rounds, Rounds | None]:
    """Return the rounds of train and dev that share no context with the study."""
    related = study.related
    if study.contexts is None or "train" not in related:
        raise Unsupported(
            "no_contexts",
            f"{study.name} has no contexts, or no rounds to learn from. Provide "
            "Study(contexts=..., related={'train': rounds, 'dev': rounds}).",
        )
    columns = feature_columns(study.contexts)
    _, scored = keys_of_items(study.contexts)
    rounds_of_split: dict[str, Rounds] = {}
    for split in [split_name for split_name in ("train", "dev") if split_name in related]:
        rounds = related[split]
        assert rounds.contexts is not None
        count_states(rounds.contexts, rounds.outputs["item_id"])
        rows = state_rows(rounds.contexts, rounds.outputs["item_id"])
        states = rounds.contexts[columns].to_numpy(dtype=np.float64)[rows]
        targets = rounds.contexts["is_target"].to_numpy()[rows].argmax(axis=1)
        new = ~np.isin(context_keys(states), scored)
        texts = rounds.outputs["text"].to_numpy()[new].tolist()
        rounds_of_split[split] = states[new], texts, targets[new]
    return rounds_of_split["train"], rounds_of_split.get("dev")


def score_listeners(
    study: Study, names: Sequence[str], *, n_jobs: int, seed: Seed, keep: Path | None
) -> pd.DataFrame:
    """Train listeners, and score a study's outputs with them: a row per name and output."""
    listeners = train_listeners(study, names, n_jobs=n_jobs, seed=seed, keep=keep)
    return tabulate_scores(study, listeners)
