"""The explorer works in a browser, for this machine alone: as an app, and in JupyterLab."""

import http.client
import re
import secrets
import signal
import socket
import subprocess
import sys
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
#: Runs a notebook's cells once JupyterLab and its kernel are there.
RUN_ALL = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await app.commands.execute("notebook:run-all-cells");
}"""


#: A view, and what it shows first.
VIEWS = {
    "Outputs": ".nlg-row",
    "Systems": ".nlg-image",
    "Evaluators": ".nlg-image",
    "Votes": ".nlg-image",
    "Decision boundary": ".nlg-picture .nlg-point",
    "Quality and diversity": ".nlg-image",
    "Color game": ".nlg-swatch",
}


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
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        process.stdout.close()


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory):
    """A study that has what all views need, and whose every text and label is an attack."""
    systems = ["leaky_t1.0", "leaky_t0.7", "leaky_t0.5"]
    study = nb.simulate("reviews", systems=systems, n_outputs=25, n_truth=0, seed=1)
    rng, outputs = np.random.default_rng(0), study.outputs
    machine = outputs.loc[~outputs["is_human"], "output_id"]
    scores = [
        pd.DataFrame({"output_id": machine, "evaluator": name, "score": rng.normal(size=75)})
        for name in (f"{HOSTILE} {n}" for n in range(30))
    ]
    pairs = machine.to_numpy().reshape(3, 25)[[0, 1, 0, 1, 2, 2]].reshape(2, 75)
    votes = pd.DataFrame(pairs.T, columns=["output_a", "output_b"])
    votes = votes.assign(annotator_id="w001", choice=rng.choice(["a", "b", "tie"], 75))
    colors = nb.simulate("colors", n_contexts=6, n_rounds={"train": 60, "dev": 20}, seed=0)
    assert colors.contexts is not None
    context = colors.contexts[colors.contexts["item_id"] == colors.contexts["item_id"].iloc[0]]
    contexts = [context.assign(item_id=name) for name in outputs["item_id"].unique()]
    folder = tmp_path_factory.mktemp("explored") / "mine"
    texts = [f"{HOSTILE} {'long ' * 2_000_000}"] + [HOSTILE] * (len(outputs) - 1)
    study.replace(
        outputs=outputs.assign(text=texts, context=HOSTILE, domain=HOSTILE),
        scores=pd.concat(scores, ignore_index=True),
        preferences=votes.assign(dimension="typicality"),
        contexts=pd.concat(contexts, ignore_index=True),
        related=colors.related,
        name=HOSTILE,
        settings=dict(study.settings, extra=["domain"], labels={systems[0]: "<b>$x$</b> \u202e"}),
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
    """The app: its address, and its process."""
    main = "from nlgbench.runner.cli import main; main()"
    with started("-c", main, "explore", str(study_folder)) as process:
        address = process.stdout.readline().decode().split()[0]
        yield SimpleNamespace(address=address, process=process)


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


@pytest.fixture(scope="module")
def page(browser, app):
    """The app, in one page for all: opening it starts a kernel."""
    with opened(browser, app.address) as page:
        yield page


def answered(page):
    """Wait until the last question has its answer: a line of text is asked .25 s after a key."""
    page.wait_for_timeout(300)
    page.wait_for_function(
        "() => document.querySelector('.nlg-status').textContent !== 'Computing…' && "
        "!document.querySelector('[aria-busy]')"
    )


def says(page, text, where=".nlg-said"):
    """Wait until a part of the page says a text."""
    page.wait_for_function(
        "([where, text]) => document.querySelector(where)?.textContent.includes(text)",
        arg=[where, text],
    )


def explore(page):
    """Filter, sort and read outputs; move a slider, and pick a point by mouse and by keys."""
    page.wait_for_selector(".nlg-row")
    says(page, "1 to 15 of 100 outputs", ".nlg-explorer caption")
    page.get_by_label("Range of").select_option("mean: typicality")
    page.get_by_label("from", exact=True).fill("2")
    says(page, "outputs", ".nlg-explorer caption")
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
    page.get_by_role("tab", name="Decision boundary").click()
    page.wait_for_selector(".nlg-picture .nlg-point", state="attached")
    drawn = page.inner_html(".nlg-picture")
    page.get_by_label("Neighbors k").focus()
    page.keyboard.press("ArrowRight")
    says(page, "k = 17")
    assert page.inner_html(".nlg-picture") != drawn
    assert page.evaluate("() => document.activeElement.type") == "range"  # it kept the focus
    page.get_by_label("System", exact=True).select_option("leaky_t0.7")
    says(page, "t0.7")
    answered(page)
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
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download PDF").click()
    assert Path(caught.value.path()).read_bytes().startswith(b"%PDF")
    is_harmless(page)


def is_harmless(page):
    """No text of the study has become markup."""
    assert page.locator(".nlg-explorer :is(img:not(.nlg-image), script)").count() == 0
    assert "caught" not in page.title() and page.problems == []


def test_the_app_is_explored(app, page):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", app.address)
    explore(page)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_opens_by_keys_fits_and_shows_texts(page, name):
    """Its texts are data: nothing in them is markup."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_selector("[role=tab]")
    page.locator("[role=tab][aria-selected=true]").focus()
    while page.evaluate("() => document.activeElement.textContent") != name:
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"[role=tab][aria-selected=true]:text-is('{name}')")
    answered(page)
    page.wait_for_selector(VIEWS[name], state="attached")
    bottom = "() => document.querySelector('.nlg-body').getBoundingClientRect().bottom"
    page.wait_for_function(f"() => ({bottom})() <= 800", timeout=5000)
    for width in (800, 480):
        page.set_viewport_size({"width": width, "height": 600})
        # The browser lays the page out anew when it comes to it.
        fits = "document.querySelector('.nlg-explorer').scrollWidth <= innerWidth"
        page.wait_for_function(f"(width) => innerWidth === width && {fits}", arg=width)
    is_harmless(page)
    opens = page.locator(".nlg-row, .nlg-swatch").first
    if opens.count():
        opens.dispatch_event("click")
        page.wait_for_selector(".nlg-item, .nlg-row, .nlg-swatch:disabled")
        answered(page)
        is_harmless(page)


def test_whoever_has_no_token_is_refused(app):
    """And nothing listens but on loopback."""
    port = int(re.search(r":(\d+)/", app.address)[1])
    for path in ("/", "/?token=wrong", "/voila/files/explorer.ipynb", "/api/kernels/0"):
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        asked.request("GET", path)
        reply = asked.getresponse()
        assert reply.status in (302, 403, 404), path
        assert reply.status != 302 or "/login" in reply.headers["Location"]
        asked.close()
    found = psutil.Process(app.process.pid).net_connections(kind="inet")
    assert {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def n_kernels(app):
    """Count the kernels of the app's process."""
    return sum(
        "ipykernel_launcher" in " ".join(child.cmdline())
        for child in psutil.Process(app.process.pid).children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE
    )


def settles(count, at_most):
    """Wait until a count has come down."""
    for _ in range(120):
        if count() <= at_most:
            return
        time.sleep(0.5)
    assert count() <= at_most


def test_a_page_that_closes_ends_its_kernel(browser, app):
    before = n_kernels(app)  # of the page that all tests share
    with opened(browser, app.address) as page:
        for _ in range(3):
            page.wait_for_selector(".nlg-row")
            page.reload()
        page.wait_for_selector(".nlg-row")
        settles(lambda: n_kernels(app), before + 1)
        page.goto("about:blank")
        settles(lambda: n_kernels(app), before)


def test_only_this_machine_is_a_host_and_kernels_without_a_page_end(study_folder):
    main = "from nlgbench.explorer import serve\nfrom nlgbench.runner.cli import main\n"
    main += "serve._IDLE = 2\nmain()"
    with started("-c", main, "explore", str(study_folder)) as process:
        address = process.stdout.readline().decode().split()[0]
        app = SimpleNamespace(process=process)
        port = re.search(r":(\d+)/", address)[1]
        # It listens already, and a name that was made to lead here is none of its own.
        for host in ("evil.example", f"evil.example:{port}", ""):
            asked = urllib.request.Request(address, headers={"Host": host})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked, timeout=60)
            refused.value.close()
            assert refused.value.code == 403
        assert n_kernels(app) == 0
        for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
            asked = urllib.request.Request(address, headers={"Host": host})
            urllib.request.urlopen(asked, timeout=60).close()
        assert n_kernels(app) > 0
        settles(lambda: n_kernels(app), 0)


def test_jupyterlab_opens_the_same(browser, study_folder, tmp_path):
    token = secrets.token_hex(16)
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port = tried.getsockname()[1]
    cell = nbformat.v4.new_code_cell(f"import nlgbench as nb\n\nnb.explore({str(study_folder)!r})")
    kernel = {"name": "python3", "display_name": "Python 3"}
    node = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(node, tmp_path / "by-hand.ipynb")
    settings = ["--no-browser", "--ip=127.0.0.1", "--allow-root", f"--port={port}"]
    settings += [f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True"]
    settings += [f"--LabApp.workspaces_dir={tmp_path / 'workspaces'}"]
    settings += [f"--LabApp.user_settings_dir={tmp_path / 'settings'}"]
    with started("-m", "jupyterlab", *settings, cwd=tmp_path):
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/api?token={token}")
        with opened(browser, f"{address}/lab/tree/by-hand.ipynb?token={token}") as page:
            page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
            news = page.locator(".Toastify button", has_text="No")
            page.wait_for_function("() => window.jupyterapp")
            page.evaluate(RUN_ALL)
            if news.count():
                news.first.click()
            explore(page)


def wait_for(address):
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"nobody answers at {address.split('?')[0]}")
