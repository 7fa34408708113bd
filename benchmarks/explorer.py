"""How soon the explorer answers, in the browser, from a control's event to the updated picture.

    python benchmarks/explorer.py [--moves 50] [--simulated] [--views]

On the released HUSE study, or a simulated one of its size. The peer is what the first widget did at
each move: `plot_boundary` by Matplotlib as a PNG. Before times are taken, each answer's scores are
held against `nlgbench.boundary`'s.

With --views, without a browser: how long each view computes for a choice that is new, and for one
that it was asked for before, on released studies.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import nlgbench as nb
from nlgbench.explorer.game import GameView
from nlgbench.explorer.widget import VIEWS

# A picture that was drawn anew is another element; a frame later it is on the screen.
MOVE = """async ([name, value]) => {
  const root = document.querySelector(".nlg-explorer");
  const before = root.querySelector(".nlg-picture");
  const control = root.querySelector(`[id$="-${name}"]`);
  const start = performance.now();
  control.value = String(value);
  const kind = control.type === "range" ? "input" : "change";
  control.dispatchEvent(new Event(kind, { bubbles: true }));
  await new Promise((done) => {
    const look = () => root.querySelector(".nlg-picture") === before
      ? requestAnimationFrame(look) : requestAnimationFrame(done);
    look();
  });
  return [performance.now() - start, root.querySelector("h2").textContent];
}"""


def moves(n: int) -> list[tuple[str, str | int]]:
    """Choose controls and values: mostly k, as that is a slider, and the rules for ties."""
    rng = np.random.default_rng(0)
    made: list[tuple[str, str | int]] = []
    k, ties = 16, "exact"
    while len(made) < n:
        if rng.random() < 0.8:
            found = int(rng.integers(1, 101))
            if found != k:
                k = found
                made.append(("n_neighbors", k))
        else:
            ties = "released" if ties == "exact" else "exact"
            made.append(("ties", ties))
    return made


#: Released study, view, and what is chosen beyond the defaults.
CHOICES: list[tuple[str, str, dict[str, str]]] = [
    ("huse", "boundary", {}),
    ("huse", "tradeoff", {}),
    ("huse", "systems", {}),
    ("webnlg-2020", "systems", {}),
    ("hanna", "systems", {}),
    ("hanna", "atlas", {}),
    ("hanna", "atlas", {"granularity": "output"}),
    ("hanna", "atlas", {"granularity": "item"}),
    ("llmbar-natural", "ratings", {}),
    ("comm-eval", "systems", {}),
    ("comm-eval", "game", {}),
]


def views() -> None:
    """Time pictures that are new, and the same again, in seconds of this process."""
    for name, view, chosen in CHOICES:
        opened = {one.name: one for one in VIEWS}[view](nb.load(name))
        took = []
        for _ in range(2):
            start = time.process_time()
            values = opened.settle(chosen)
            opened.picture(values)
            if isinstance(opened, GameView):
                opened.believed(values["listener"])
            opened.says(values)
            took.append(time.process_time() - start)
        asked = " ".join(chosen.values())
        print(f"{name:15} {view:9} {asked:7} {took[0]:7.2f} s, again {took[1]:5.3f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=50)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--views", action="store_true")
    asked = parser.parse_args()
    if asked.views:
        views()
        return
    if asked.simulated:
        study = nb.simulate("reviews", systems=["leaky_t1.0"], n_truth=0)
    else:
        study = nb.load("huse")
    system = study.systems[0]
    times, peer = [], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "study")
        study.write(folder)
        run = "from nlgbench.runner.cli import main; main()"
        server = subprocess.Popen(
            [sys.executable, "-c", run, "explore", "--study", str(folder)], stdout=subprocess.PIPE
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().decode().split()[0]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox"]
                )
                page = browser.new_page()
                page.set_default_timeout(600_000)
                page.goto(address)
                page.wait_for_selector(".nlg-picture .nlg-point", state="attached")
                chosen: dict[str, str | int] = {"n_neighbors": 16, "ties": "exact"}
                for name, value in moves(asked.moves):
                    chosen[name] = value
                    took, title = page.evaluate(MOVE, [name, value])
                    start = time.perf_counter()
                    found = nb.boundary(study, system=system, **chosen)
                    nb.plot_boundary(found).image("png")
                    peer.append(1_000 * (time.perf_counter() - start))
                    assert title.startswith(f"HUSE = {found.scores['huse']:.2f} ("), title
                    times.append(took)
                browser.close()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    for what, found in (("explorer", times), ("matplotlib", peer)):
        middle, late = np.quantile(found, [0.5, 0.95])
        print(f"{what:10} median {middle:5.0f} ms, 95% {late:5.0f} ms, most {max(found):5.0f} ms")
    print(f"ratio of medians {np.median(times) / np.median(peer):.2f}; moves {len(times)}")
    print(f"outputs {len(study.outputs)}; load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
