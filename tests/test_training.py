"""Training repeats with its seed, keeps its best epoch, and is saved as a whole."""

import json
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra neural is not installed")

from nlgbench.training import digest, fit, load, save, seeded  # noqa: E402


def line(*, seed=0):
    with seeded(seed):
        return torch.nn.Linear(1, 1)


def squared(model, batch):
    return ((model(batch[0]) - batch[1]) ** 2).mean()


X = torch.linspace(-1, 1, 60)[:, None]
NOISE = torch.from_numpy(np.random.default_rng(0).normal(size=(60, 1))).float()
DATA = (X, 3 * X + 1 + NOISE)


def dropping(*, seed=0):
    with seeded(seed):
        return torch.nn.Sequential(
            torch.nn.Linear(1, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
        )


def test_a_seed_fixes_the_weights_and_leaves_the_global_state_alone():
    torch.manual_seed(1)
    before, n_threads = torch.get_rng_state(), torch.get_num_threads()
    found = []
    for seed in (0, 0, 1):
        model = dropping()
        history = fit(model, DATA, loss=squared, epochs=3, batch_size=16, seed=seed)
        found.append((digest(model.state_dict()), history["train_loss"].tolist()))
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == n_threads


def test_the_epoch_with_the_lowest_dev_loss_is_kept():
    """Training data pull the weight past the dev data's optimum of 1, to 3."""
    model = line()
    with torch.no_grad():
        model.weight.fill_(0)
        model.bias.fill_(0)
    dev, kept = (X, X), []
    history = fit(
        model,
        (X, 3 * X),
        loss=squared,
        dev=dev,
        epochs=100,
        batch_size=60,
        learning_rate=0.1,
        patience=4,
        seed=0,
        progress=lambda row: kept.append((row["dev_loss"], model.weight.item())),
    )
    best = history["dev_loss"].idxmin()
    assert history["is_kept"].tolist() == [at == best for at in range(len(history))]
    assert len(history) == best + 1 + 4
    assert kept[best] == (history["dev_loss"][best], model.weight.item())
    assert squared(model, dev).item() == pytest.approx(history["dev_loss"][best], rel=1e-5)
    without = fit(line(), DATA, loss=squared, epochs=3, seed=0)
    assert without["dev_loss"].isna().all()
    assert without["is_kept"].tolist() == [False, False, True]


def test_a_loss_that_is_no_number_ends_the_training():
    with pytest.raises(FloatingPointError, match=r"epoch 1 .*lower learning_rate"):
        fit(line(), (X, X / 0), loss=squared, epochs=2, seed=0)


def test_a_broken_or_foreign_checkpoint_is_refused(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(FileNotFoundError, match="absent"):
        load(tmp_path / "absent")
    save(line(), path, {})
    whole = path.read_bytes()
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    for content, message in [
        (whole[:-1], r"not a complete safetensors file .* train again"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "has changed since it was saved"),
        (struct.pack("<Q", len(header)) + header, "was not saved by nlgbench"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            load(path)
