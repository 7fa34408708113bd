"""The explorer works in a browser, for this machine alone: as an app, and in JupyterLab."""

import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import psutil
import pytest

import nlgbench as nb

pytest.importorskip("voila", reason="the app needs voila (extra app)")
sync = pytest.importorskip("playwright.sync_api", reason="the extra browser is not installed")
CHROMIUM = "/usr/bin/chromium"
pytestmark = pytest.mark.skipif(
    not Path(CHROMIUM).exists(), reason=f"{CHROMIUM} is not there: apt-get install chromium"
)

HOSTILE = "=1+1 <script>document.title = 'caught'</script> & <img src=x onerror=alert(1)> \u202e$x$"
# How long a step may take on a busy machine.
PATIENCE = 60_000
#: Seconds after which the app ends a kernel without a page.
IDLE = 30
VIEWS = ["Outputs", "Systems", "Evaluators", "Votes", "Decision boundary"]
VIEWS += ["Quality and diversity", "Color game"]


@contextmanager
def started(*command, cwd=None):
    """Start a server; end it, and with it its kernels."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        process.stdout.close()


def address_of(process, pattern):
    """Wait for the line that names the address; read on, lest a full pipe stop the server."""
    lines = (line.decode() for line in process.stdout)
    found = next(found for line in lines if (found := re.search(pattern, line)))
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return found


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory):
    """A study that has what all views need, and whose every text and label is an attack."""
    study = nb.simulate("reviews", systems=["leaky_t1.0", "leaky_t0.7"], n_outputs=25, n_truth=0)
    rng, outputs = np.random.default_rng(0), study.outputs
    machine = outputs.loc[~outputs["is_human"], "output_id"].to_numpy()
    scores = [
        pd.DataFrame({"output_id": machine, "evaluator": name, "score": rng.normal(size=50)})
        for name in (f"{HOSTILE} {n}" for n in range(30))
    ]
    votes = pd.DataFrame({"output_a": machine[:25], "output_b": machine[25:]})
    votes = votes.assign(annotator_id="w001", choice=rng.choice(["a", "b", "tie"], 25))
    colors = nb.simulate("colors", n_contexts=6, n_rounds={"train": 60, "dev": 20}, seed=0)
    context = colors.contexts[colors.contexts["item_id"] == colors.contexts["item_id"].iloc[0]]
    contexts = [context.assign(item_id=name) for name in outputs["item_id"].unique()]
    texts = [f"{HOSTILE} {'long ' * 2_000_000}"] + [HOSTILE] * (len(outputs) - 1)
    folder = tmp_path_factory.mktemp("explored") / "mine"
    study.replace(
        outputs=outputs.assign(text=texts, context=HOSTILE, domain=HOSTILE),
        scores=pd.concat(scores, ignore_index=True),
        preferences=votes.assign(dimension="typicality"),
        contexts=pd.concat(contexts, ignore_index=True),
        related=colors.related,
        name=HOSTILE,
        settings=dict(study.settings, extra=["domain"], labels={"leaky_t1.0": "<b>$x$</b> \u202e"}),
    ).write(folder)
    return folder


@pytest.fixture(scope="module")
def browser():
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def app(study_folder):
    """The app: its address, its port, and its process."""
    main = "from nlgbench.explorer import serve\nfrom nlgbench.runner.cli import main\n"
    main += f"serve._IDLE = {IDLE}\nmain()"
    with started("-c", main, "explore", str(study_folder)) as process:
        found = address_of(process, r"http://127\.0\.0\.1:(\d+)/\?token=[\w-]{32}(?=\s)")
        address, port = found[0], found[1]
        app = SimpleNamespace(address=address, port=port, process=psutil.Process(process.pid))
        urllib.request.urlopen(address, timeout=60).close()  # starts a kernel
        app.without_page = kernels(app)
        assert len(app.without_page) == 1
        yield app
        end(app, app.without_page, 60)


@contextmanager
def opened(browser, address):
    """A page, with what it wrote to the console as errors."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    page.set_default_timeout(PATIENCE)
    page.problems = []
    page.on("console", lambda said: said.type == "error" and page.problems.append(said.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(address)
    yield page
    page.close()


def answered(page):
    """Wait until the last question has its answer: a line of text is asked .25 s after a key."""
    page.wait_for_timeout(300)
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")


def says(page, text, where=".nlg-said"):
    """Wait until a part of the page says a text."""
    page.wait_for_function(
        "([where, text]) => document.querySelector(where)?.textContent.includes(text)",
        arg=[where, text],
    )


def is_harmless(page):
    """No text of the study has become markup."""
    assert page.locator(".nlg-panel :is(img:not(.nlg-image), script)").count() == 0
    assert "caught" not in page.title() and page.problems == []


def kernels(app):
    """The processes of the app's kernels."""
    return {
        child.pid
        for child in app.process.children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE
        and "ipykernel_launcher" in " ".join(child.cmdline())
    }


def end(app, some, seconds):
    """Wait until some kernels have ended."""
    limit = time.monotonic() + seconds
    while some & kernels(app):
        assert time.monotonic() < limit
        time.sleep(0.5)


def test_only_this_machine_and_whoever_has_the_token_are_served(app):
    wrong = [app.address.partition("?")[0], app.address[:-3] + "abc"]
    wrong += [f"http://127.0.0.1:{app.port}{path}" for path in ("/voila/files/x", "/api/kernels/0")]
    # A name that was made to lead here is none of its own.
    requests = [urllib.request.Request(app.address, headers={"Host": "evil.example"})]
    for asked in [*wrong, *requests]:
        try:
            with urllib.request.urlopen(asked, timeout=60) as reply:
                assert "/login" in reply.url
        except urllib.error.HTTPError as refused:
            refused.close()
            assert refused.code in (403, 404)
    assert kernels(app) <= app.without_page
    found = app.process.net_connections(kind="inet")
    assert {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def test_each_view_opens_by_keys_fits_and_shows_texts(browser, app):
    """Its texts are data: nothing in them is markup."""
    with opened(browser, app.address) as page:
        page.wait_for_selector(".nlg-row")
        for name in VIEWS:
            opens_by_keys(page, name)
            fits(page)
            is_harmless(page)
            if page.locator(".nlg-row").count():
                page.locator(".nlg-row").first.dispatch_event("click")
                answered(page)
                is_harmless(page)
        page.get_by_role("button", name="Next caption").click()
        says(page, "Caption 2 of", ".nlg-main h3")
        own = kernels(app) - app.without_page
        assert own
        page.goto("about:blank")
        end(app, own, IDLE - 1)  # with its page, before it has been idle for long


def opens_by_keys(page, name):
    page.locator("[role=tab][aria-selected=true]").focus()
    while page.evaluate("() => document.activeElement.textContent") != name:
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name=name, selected=True).wait_for()
    answered(page)
    page.locator(".nlg-main :is(.nlg-row, .nlg-image, .nlg-point, .nlg-swatch)").first.wait_for()


def fits(page):
    """Nothing is below a window of 1280 x 800, or beside a small one."""
    bottom = "document.querySelector('.nlg-body').getBoundingClientRect().bottom <= 800"
    page.wait_for_function(f"() => {bottom}")
    for width, height in ((480, 600), (800, 600), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        inside = "document.querySelector('.nlg-panel').scrollWidth <= innerWidth"
        page.wait_for_function(f"(width) => innerWidth === width && {inside}", arg=width)


CONTROLS = """
import nlgbench as nb
from nlgbench.runner import record

study = nb.simulate("gaussian", n_outputs=20)
run = record.open("01-huse-tradeoff", source="simulated")
run.controls(lambda k: nb.plot_tradeoff(nb.huse(study, n_neighbors=k, n_resamples=0)), k=[3, 5, 7])
"""
PICTURE = "document.querySelector('.jp-OutputArea img')?.src.slice(-4000)"
KERNEL_STATUS = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"


@pytest.mark.release
def test_outputs_and_boundary_are_explored_in_jupyterlab(browser, study_folder, tmp_path):
    """Where keys are Lab's own unless the explorer keeps them."""
    codes = [CONTROLS, f"nb.explore({str(study_folder)!r})"]
    cells = [nbformat.v4.new_code_cell(code) for code in codes]
    kernel = {"name": "python3", "display_name": "Python 3"}
    node = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(node, tmp_path / "by-hand.ipynb")
    settings = ["--no-browser", "--ip=127.0.0.1", "--allow-root", "--IdentityProvider.token=t"]
    settings += [f"--LabApp.workspaces_dir={tmp_path}", f"--LabApp.user_settings_dir={tmp_path}"]
    settings += ["--expose-app-in-browser"]
    with started("-m", "jupyterlab", *settings, cwd=tmp_path) as process:
        port = address_of(process, r"127\.0\.0\.1:(\d+)")[1]
        with opened(browser, f"http://127.0.0.1:{port}/lab/tree/by-hand.ipynb?token=t") as page:
            # Lab loses keys while it opens, and runs no cell before it has a kernel.
            page.wait_for_function(f"() => {KERNEL_STATUS} === 'idle'")
            page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
            use_controls(page)
            explore_outputs(page)
            explore_boundary(page)
            is_harmless(page)


def use_controls(page):
    """Move a slider by a key: the figure is drawn, and drawn again."""
    page.wait_for_selector(".widget-slider")
    assert not page.query_selector(".jp-OutputArea img")
    page.locator(".noUi-handle").focus()
    pictures = set()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(f"() => {PICTURE} && !{sorted(pictures)}.includes({PICTURE})")
        pictures.add(page.evaluate(f"() => {PICTURE}"))
    assert len(pictures) == 2


def explore_outputs(page):
    """Filter, sort, and read outputs by keys; save them."""
    says(page, "1 to 13 of 75 outputs", ".nlg-explorer caption")
    page.get_by_label("Range of").select_option("mean: typicality")
    page.get_by_label("from", exact=True).fill("2")
    page.get_by_role("button", name="mean: typicality").click()
    page.wait_for_selector("th[aria-sort=descending]")
    page.get_by_label("Words in the text").fill("SCRIPT =1+1")
    answered(page)
    page.locator(".nlg-row").nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    says(page, "2 of ", ".nlg-item .nlg-pages")
    assert HOSTILE in page.inner_text(".nlg-text >> nth=0")
    page.keyboard.press("ArrowRight")
    says(page, "3 of ", ".nlg-item .nlg-pages")
    page.keyboard.press("Escape")
    page.wait_for_selector(".nlg-row")
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download CSV").click()
    table = pd.read_csv(caught.value.path())
    assert caught.value.suggested_filename == "outputs.csv"
    assert (table["mean: typicality"] >= 2).all() and table["text"].str.startswith("'=1").all()


def explore_boundary(page):
    """Move the slider, and pick a point by mouse and by keys."""
    page.get_by_role("tab", name="Decision boundary").click()
    page.wait_for_selector(".nlg-figure .nlg-point", state="attached")
    drawn = page.inner_html(".nlg-figure")
    page.locator(".noUi-handle:visible").last.focus()
    page.keyboard.press("ArrowRight")
    says(page, "k = 17")
    assert page.inner_html(".nlg-figure") != drawn
    # It kept the focus.
    assert "noUi-handle" in page.evaluate("() => document.activeElement.className")
    assert "n_neighbors=17" in page.inner_text(".nlg-explorer code")
    page.locator(".nlg-point").nth(3).click(force=True)
    assert page.wait_for_selector(".nlg-side blockquote").inner_text().startswith(HOSTILE)
    page.locator(".nlg-point[tabindex='0']").focus()
    first = page.evaluate("() => document.activeElement.dataset.id")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("() => document.activeElement.dataset.id")
    page.keyboard.press("Enter")
    says(page, second, ".nlg-side h3")
    assert first != second
