"""Time the training of listeners against a batch-of-one loop: ``python benchmarks/listeners.py``.

Both train the same networks on the same rounds with Adam, on one thread. The loop takes a step per
round, as the released training of Newman, Cohn-Gordon and Potts (2020) did, and reads no padding.
First, losses are asserted to be equal, of batches and one by one.
"""

import copy
import math
import sys
import timeit
from collections.abc import Callable

import numpy as np

from nlgbench.evaluators.listeners.neural import (
    ContextListener,
    LiteralListener,
    NeuralListener,
    PragmaticListener,
)
from nlgbench.training import fit, torch

# A step of the loop is a batch of three for the context-aware listener, which reads a caption once
# per state: see benchmarks/README.md.
REQUIRED = {LiteralListener: 10, ContextListener: 6, PragmaticListener: 10}
SIZES = (1_000, 4_000, 16_000)
FEW = 128  # rounds of the loop
WORDS = 1_000


def simulate(n: int) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Draw colors, and captions of about three words from a Zipf distribution."""
    rng = np.random.default_rng(n)
    contexts = rng.uniform(0, (360, 100, 100), size=(n, 3, 3))
    lengths = np.minimum(rng.geometric(1 / 3, size=n), 40)
    words = [f"w{word % WORDS}" for word in rng.zipf(1.3, size=lengths.sum())]
    ends = np.cumsum(lengths)
    captions = [" ".join(words[end - size : end]) for end, size in zip(ends, lengths, strict=True)]
    return contexts, captions, rng.integers(3, size=n)


def prepared(listener: NeuralListener, n: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Make the starting network of a listener, and its tensors."""
    listener.fit(*simulate(n))
    return copy.deepcopy(listener.network), listener._rounds(*simulate(n))


def one_by_one(
    listener: NeuralListener, network: torch.nn.Module, rows: tuple[torch.Tensor, ...]
) -> None:
    """Train as a plain loop would: a round, a step."""
    network.train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for at in range(len(rows[0])):
        optimizer.zero_grad()
        listener._loss(network, tuple(tensor[at : at + 1] for tensor in rows)).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()


def assert_equal(
    listener: NeuralListener, network: torch.nn.Module, rows: tuple[torch.Tensor, ...]
) -> None:
    network.eval()
    with torch.no_grad():
        together = listener._loss(network, rows).item()
        singly = [
            listener._loss(network, tuple(tensor[at : at + 1] for tensor in rows)).item()
            for at in range(len(rows[0]))
        ]
    assert math.isclose(together, sum(singly) / len(singly), rel_tol=1e-5)


def seconds(call: Callable[[], object]) -> float:
    return timeit.timeit(call, number=1)


def main() -> int:
    torch.set_num_threads(1)
    slow = []
    print(
        f"{'listener':>18} {'loop, ms':>9} {'ours, ms':>9} {'ratio':>7} {'required':>9}"
        f"   (per round; {FEW} of the loop)"
    )
    for kind, required in REQUIRED.items():
        listener = kind(seed=0, epochs=1)
        network, rows = prepared(listener, SIZES[1])
        few = tuple(tensor[:FEW] for tensor in rows)
        assert_equal(listener, network, few)

        def batches(
            rows: tuple[torch.Tensor, ...],
            listener: NeuralListener = listener,
            network: torch.nn.Module = network,
        ) -> None:
            options = {"batch_size": 64, "max_norm": 5.0, "one_cycle": True}
            start = copy.deepcopy(network)
            fit(start, rows, loss=listener._loss, epochs=1, seed=0, **options)

        loop, ours = [], []
        for _ in range(3):
            start = copy.deepcopy(network)
            loop.append(seconds(lambda: one_by_one(listener, start, few)) / FEW)  # noqa: B023
            ours.append(seconds(lambda: batches(rows)) / len(rows[0]))  # noqa: B023
        ratio = min(loop) / min(ours)
        slow += [f"{kind.__name__} below {required}x"] * (ratio < required)
        shown = f"{1e3 * min(loop):>9.2f} {1e3 * min(ours):>9.3f} {ratio:>6.1f}x {required:>8}x"
        print(f"{kind.__name__:>18} {shown}")
    print("Losses of batches and one by one were equal to 1e-5.\n")

    times = []
    for n in SIZES:
        listener = LiteralListener(seed=0, epochs=1)
        data = simulate(n)
        times.append(min(seconds(lambda: listener.fit(*data)) for _ in range(2)))  # noqa: B023
        print(f"LiteralListener.fit, {n:>6,} rounds, one epoch: {times[-1]:.2f} s")
    order = math.log(times[-1] / times[0]) / math.log(SIZES[-1] / SIZES[0])
    print(f"Time grows as n^{order:.2f}.")
    if slow:
        print(f"{', '.join(slow)}.")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
