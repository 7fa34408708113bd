"""The explorer in a browser: as an app by Voila, and in JupyterLab."""

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

import pytest

import nlgbench as nb

pytest.importorskip("voila", reason="the app needs voila (extra app)")
sync = pytest.importorskip("playwright.sync_api", reason="the extra browser is not installed")
CHROMIUM = "/usr/bin/chromium"
pytestmark = pytest.mark.skipif(
    not Path(CHROMIUM).exists(), reason=f"{CHROMIUM} is not there: apt-get install chromium"
)

HOSTILE = "<script>document.title = 'caught'</script> & <img src=x onerror=alert(1)>"
# How long a step may take on a busy machine; what is measured is in benchmarks/explorer.py.
PATIENCE = 60_000
#: Where the numbers of each text of the explorer stand, with its colors.
TEXTS = """() => {
  const root = document.querySelector(".nlg-explorer");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const shade = (color) => color.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    const before = element.previousElementSibling;
    if (element.tagName === "text" && before && before.tagName === "rect")
      return shade(getComputedStyle(before).fill);
    for (let one = element; one; one = one.parentElement) {
      const found = shade(getComputedStyle(one).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest("option, [hidden]")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const style = getComputedStyle(element);
    const color = shade(element.tagName === "text" ? style.fill : style.color);
    for (const box of range.getClientRects())
      found.push([node.data, box.left, box.top, box.right, box.bottom, color, behind(element)]);
  }
  return found;
}"""
#: Controls and pictures without a name that a screen reader would say.
NAMELESS = """() => [...document.querySelectorAll(
  ".nlg-explorer :is(input, select, button, svg, pre, form, [role=tablist])")]
  .filter((one) => !one.closest("[aria-hidden=true]") && !(one.getAttribute("aria-label") ||
    (one.labels && one.labels.length && one.labels[0].textContent.trim()) ||
    (one.tagName === "BUTTON" && one.textContent.trim()))).map((one) => one.outerHTML)"""

#: Runs a notebook's cells once JupyterLab and its kernel are there.
RUN_ALL = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await app.commands.execute("notebook:run-all-cells");
}"""


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
    """A study whose every text is an attack."""
    world = {"systems": ["leaky_t1.0", "leaky_t0.7"], "n_outputs": 25, "n_truth": 0, "seed": 1}
    study = nb.simulate("reviews", **world)
    folder = tmp_path_factory.mktemp("explored") / "mine"
    study.replace(outputs=study.outputs.assign(text=HOSTILE)).write(folder)
    return folder


@pytest.fixture(scope="module")
def browser():
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def app(study_folder):
    """The address of the app."""
    main = "from nlgbench.runner.cli import main; main()"
    with started("-c", main, "explore", "--study", str(study_folder)) as process:
        yield process.stdout.readline().decode()


@pytest.fixture
def page(browser):
    """A page, with what it wrote to the console as errors."""
    opened = browser.new_page(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
    opened.set_default_timeout(PATIENCE)
    opened.problems = []
    opened.on("console", lambda said: said.type == "error" and opened.problems.append(said.text))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    yield opened
    opened.close()


def answered(page):
    """Wait until the last question has its answer, and give the title."""
    page.wait_for_timeout(50)
    page.wait_for_function("() => !document.querySelector('.nlg-status').textContent")
    return page.inner_text(".nlg-explorer h2")


def contrast(one, other):
    """Of two colors, as WCAG 2.2 defines it."""

    def light(color):
        parts = [part / 255 for part in color[:3]]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def sound(page):
    """Nothing overlaps, all can be read and has a name."""
    texts = page.evaluate(TEXTS)
    assert len(texts) > 20
    for n, (text, left, top, right, bottom, color, behind) in enumerate(texts):
        assert contrast(color, behind) >= 4.5, (text, color, behind)
        for other, left_b, top_b, right_b, bottom_b, *_ in texts[:n]:
            across = min(right, right_b) - max(left, left_b)
            down = min(bottom, bottom_b) - max(top, top_b)
            # Boxes of lines are higher than their letters.
            assert across <= 1 or down <= 4, (text, other)
    assert page.evaluate(NAMELESS) == []


def explore(page):
    """Move a slider, pick a point by mouse and by keys, and download what is shown."""
    page.wait_for_selector(".nlg-picture .nlg-point", state="attached")
    before, drawn = answered(page), page.inner_html(".nlg-picture")
    slider = page.get_by_label("Neighbors k")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelector('.nlg-picture').innerHTML.length != 0 && "
        "document.querySelector('.nlg-said').textContent.includes('k = 17')"
    )
    assert slider.input_value() == "17" and page.inner_html(".nlg-picture") != drawn
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => document.querySelector('.nlg-said').textContent.includes('k = 11')"
    )
    assert page.evaluate("() => document.activeElement.type") == "range"  # it kept the focus
    page.get_by_label("Temperature").select_option("0.7")
    page.wait_for_function(
        "() => document.querySelector('.nlg-explorer h2').textContent.includes('t0.7')"
    )
    assert answered(page) != before and "n_neighbors=11" in page.inner_text(".nlg-explorer pre")
    point = page.locator(".nlg-point").nth(3)
    point.click(force=True)
    quote = page.wait_for_selector(".nlg-detail blockquote")
    assert quote.inner_text() == HOSTILE
    told = page.inner_text(".nlg-detail")
    assert re.search(r"classified as (human|model)", told) and "Judgments" in told
    assert page.locator(".nlg-detail img, .nlg-detail script").count() == 0
    page.locator(".nlg-point[tabindex='0']").focus()
    first = page.evaluate("() => document.activeElement.dataset.id")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("() => document.activeElement.dataset.id")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "(name) => document.querySelector('.nlg-detail h3').textContent.startsWith(name)",
        arg=second,
    )
    assert first != second == page.evaluate("() => document.activeElement.dataset.id")
    sound(page)
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download PDF").click()
    assert caught.value.suggested_filename == "boundary.pdf"
    assert Path(caught.value.path()).read_bytes().startswith(b"%PDF")
    assert "caught" not in page.title() and page.problems == []


def test_the_app_is_explored(app, page, study_folder):
    address = app.split()[0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", address)
    page.goto(address)
    explore(page)
    page.get_by_role("tab", name="Systems by people").click()
    page.wait_for_function(
        "() => document.querySelector('.nlg-explorer h2').textContent.includes('typicality')"
    )
    sound(page)
    page.get_by_role("tab", name="Evaluators and people").click()
    page.wait_for_function(
        "() => document.querySelector('.nlg-hint').textContent.includes('needs scores')"
    )
    assert page.problems == []


def test_whoever_has_no_token_is_refused(app):
    """And nothing listens but on loopback."""
    address = app.split()[0]
    base, port = address.split("/?")[0], int(re.search(r":(\d+)/", address).group(1))

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    opener = urllib.request.build_opener(Stay)
    for path in ("/", "/?token=wrong", "/voila/files/explorer.ipynb", "/api/kernels/0"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(base + path, timeout=60)
        refused.value.close()
        assert refused.value.code in (302, 403, 404), path
        if refused.value.code == 302:
            assert "/login" in refused.value.headers["Location"]
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port)}
    for other in others - {"127.0.0.1", "127.0.1.1", "::1"}:
        with pytest.raises(OSError), socket.create_connection((other, port), timeout=5):
            pass


def test_jupyterlab_opens_the_same(browser, page, study_folder, tmp_path, make_lab_notebook):
    token = secrets.token_hex(16)
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port = tried.getsockname()[1]
    make_lab_notebook(tmp_path / "by-hand.ipynb", study_folder)
    settings = ["--no-browser", "--ip=127.0.0.1", "--allow-root", f"--port={port}"]
    settings += [f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True"]
    settings += [f"--LabApp.workspaces_dir={tmp_path / 'workspaces'}"]
    settings += [f"--LabApp.user_settings_dir={tmp_path / 'settings'}"]
    with started("-m", "jupyterlab", *settings, cwd=tmp_path):
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/api?token={token}")
        page.goto(f"{address}/lab/tree/by-hand.ipynb?token={token}")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        news = page.locator(".Toastify button", has_text="No")
        page.wait_for_function("() => window.jupyterapp")
        page.evaluate(RUN_ALL)
        if news.count():
            news.first.click()
        explore(page)


@pytest.fixture
def make_lab_notebook():
    import nbformat.v4 as form

    def make(path, folder):
        cell = form.new_code_cell(f"import nlgbench as nb\n\nnb.explore({str(folder)!r})")
        about = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        path.write_text(form.writes(form.new_notebook(cells=[cell], metadata=about)))

    return make


def wait_for(address):
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"nobody answers at {address.split('?')[0]}")
