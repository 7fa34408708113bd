"""A simulated study of two Gaussian classes, with true scores in closed form."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.stats import norm

from nlgbench.arrays import Seed
from nlgbench.study import Study, from_rows
from nlgbench.worlds.tables import check_classes, crossed_rows, output_rows

#: System -> (quality shift, likelihood shift). Compared with human texts, the first lowers the mean
#: judgment, and the second raises the log-probability per token (nats). Annealing from t = 1.0
#: improves quality and concentrates outputs where the model is confident.
ANNEALED: dict[str, tuple[float, float]] = {
    "t1.0": (0.75, 0.10),
    "t0.7": (0.25, 0.60),
    "t0.5": (0.10, 1.10),
}

_LOGPROB_MEAN, _LOGPROB_SD = -5.0, 0.5
_JUDGMENT_MEAN, _JUDGMENT_SD = 4.0, 0.6
_BIAS_SD, _NOISE_SD = 0.4, 1.2
_CORRELATION = 0.3


def gaussian_world(
    *,
    n_outputs: int = 100,
    n_annotators: int = 20,
    systems: Mapping[str, tuple[float, float]] | None = None,
    seed: Seed,
) -> Study:
    """Simulate a study in which human and system outputs are two Gaussian classes.

    `systems` gives each system's quality shift and likelihood shift, as in `ANNEALED`. Mean
    judgment and log-probability per token have the same covariance in both classes, so the optimal
    error is ``Phi(-Delta / 2)``, with ``Delta`` the Mahalanobis distance of the class means, and
    HUSE is twice that (Hashimoto, Zhang and Liang 2019, eq. 3, doi:10.18653/v1/N19-1169). A
    judgment is latent quality + the annotator's leniency + noise.
    """
    systems = ANNEALED if systems is None else systems
    check_classes(systems, n_outputs=n_outputs, n_annotators=n_annotators)
    rng = np.random.default_rng(seed)
    items = [f"i{item:05d}" for item in range(1, n_outputs + 1)]
    leniency = rng.normal(0, _BIAS_SD, size=n_annotators)
    outputs, logprobs, judgments, truth = [], [], [], []
    for name, (quality_shift, likelihood_shift) in {"human": (0.0, 0.0), **systems}.items():
        quality = rng.normal(size=n_outputs)
        ids = [f"{name}_{item}" for item in items]
        texts = [f"simulated output {item} of {name}" for item in items]
        outputs.append(output_rows(ids, items, name).assign(text=texts, is_human=name == "human"))
        latent = _JUDGMENT_MEAN - quality_shift + _JUDGMENT_SD * quality
        noise = rng.normal(0, _NOISE_SD, size=(n_outputs, n_annotators))
        values = latent[:, None] + leniency + noise
        judgments.append(crossed_rows(ids, values, "typicality"))
        if name == "human":
            human_ids, human_quality = ids, quality
            n_tokens = rng.integers(5, 16, size=n_outputs)
            continue
        of_human = _logprob_per_token(human_quality, 0.0, rng)
        likelihood = np.append(of_human, _logprob_per_token(quality, likelihood_shift, rng))
        length = np.append(n_tokens, rng.integers(5, 16, size=n_outputs))
        of_system = {"output_id": human_ids + ids, "model": name, "n_tokens": length}
        logprobs.append(pd.DataFrame({**of_system, "logprob": likelihood * length}))
        truth.append({"system": name} | true_scores(quality_shift, likelihood_shift, n_annotators))
    table = pd.concat(outputs)
    return from_rows(
        outputs=table.assign(context="simulated context " + table["item_id"]),
        judgments=pd.concat(judgments),
        logprobs=pd.concat(logprobs),
        name="gaussian",
        source="simulated",
        settings={"quality": "typicality"},
        truth={"systems": pd.DataFrame(truth)},
    )


def _logprob_per_token(quality: np.ndarray, shift: float, rng: Generator) -> np.ndarray:
    """Draw log-probabilities that correlate with the outputs' standardized quality."""
    independent = rng.normal(size=len(quality))
    mixed = _CORRELATION * quality + np.sqrt(1 - _CORRELATION**2) * independent
    return _LOGPROB_MEAN + shift + _LOGPROB_SD * mixed


def true_scores(
    quality_shift: float, likelihood_shift: float, n_annotators: int
) -> dict[str, float]:
    """Compute HUSE, HUSE-Q and HUSE-D in closed form, for a system with given shifts."""
    variance = _JUDGMENT_SD**2 + _NOISE_SD**2 / n_annotators
    common = _CORRELATION * _LOGPROB_SD * _JUDGMENT_SD
    covariance = np.array([[_LOGPROB_SD**2, common], [common, variance]])
    shift = np.array([likelihood_shift, -quality_shift])
    distance = np.sqrt(shift @ np.linalg.solve(covariance, shift))
    huse = 2 * float(norm.cdf(-distance / 2))
    huse_q = 2 * float(norm.cdf(-abs(quality_shift) / (2 * np.sqrt(variance))))
    return {"huse": huse, "huse_q": huse_q, "huse_d": 1 + huse - huse_q}
