"""Serve the explorer as an app by Voila: on this machine alone, to whoever has the token."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nlgbench.explorer.opening import explore
from nlgbench.study.study import why_no_study

if TYPE_CHECKING:
    from tornado.web import RequestHandler
    from voila.app import Voila

    from nlgbench.explorer.widget import Explorer

HOST = "127.0.0.1"
#: The first port that is tried where none is asked for.
_PORT = 8866
#: Seconds after which a kernel ends that no page is connected to: its page was killed, say.
_IDLE = 60

# What of JupyterLab the app needs: the widgets alone.
_EXTENSIONS = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
]
# Voila's page, without the style sheets that it would fetch from elsewhere.
_TEMPLATE = """{%- extends 'voila/templates/lab/index.html.j2' -%}
{% import "spinner.macro.html.j2" as spinner %}
{%- block notebook_css -%}
{{ resources.include_js("static/voila-style.js") }}
{{ spinner.css() }}
{{ super.super() }}
{%- endblock notebook_css -%}
"""


def serve(folder: Path | None, port: int | None, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; kernels end with it. A page reads the study, as it opens."""
    if folder is not None and (why := why_no_study(folder)):
        raise FileNotFoundError(why)
    with tempfile.TemporaryDirectory(prefix="nlgbench-explore-") as place:
        app = _app(Path(place), folder, port)
        from tornado.ioloop import IOLoop  # which comes with Voila

        # The loop begins when the port is open, so whoever reads the address can open it.
        IOLoop.current().add_callback(
            lambda: say(f"http://{HOST}:{app.port}/?token={app.token}  (Ctrl-C ends it)")
        )
        try:
            app.start()
        finally:
            app.clear_instance()


def explore_or_explain(folder: str | None) -> Explorer | None:
    """Open the explorer in a page, or list there what is wrong with the study."""
    try:
        return explore(folder)
    except (OSError, ValueError) as error:
        print(error)
        return None


def _set_xsrf_cookie(page: RequestHandler, **_: object) -> None:
    """Give a page the cookie with which its request to end its kernel, as it closes, is allowed."""
    page.xsrf_token  # noqa: B018, reading it sets the cookie


def _app(place: Path, folder: Path | None, port: int | None) -> Voila:
    try:
        import nbformat.v4 as form
        from traitlets.config import Config
        from voila.app import Voila
    except ImportError as error:
        raise ValueError(
            f"the app needs {error.name}: pip install 'nlgbench[app]' brings it."
        ) from None
    given = None if folder is None else os.fspath(folder.resolve())
    code = "from nlgbench.explorer.serve import explore_or_explain\n\n"
    cell = form.new_code_cell(f"{code}explore_or_explain({given!r})")
    about = {"title": "nlgbench explorer", "kernelspec": {"name": "python3", "display_name": ""}}
    notebook = place / "explorer.ipynb"
    notebook.write_text(form.writes(form.new_notebook(cells=[cell], metadata=about)))
    app = Voila.instance(
        ip=HOST,
        port=port or _PORT,
        port_retries=0 if port else 50,
        token=secrets.token_urlsafe(24),
        open_browser=False,
        notebook_path=str(notebook),
        log_level=logging.ERROR,
        tornado_settings={
            # Jupyter's own default is longer than what it lets itself be, and it says so.
            "ws_ping_timeout": 30_000,
            # Only requests for this machine: another name that resolves to it is refused.
            "allow_remote_access": False,
        },
        # No configuration of whoever calls: it could open the app to others.
        config_file_paths=[],
    )
    # Sockets in a folder of the user's own, where no two choose the same port.
    sockets = {"ConnectionFileMixin": {"transport": "ipc"}}
    culled = {"cull_idle_timeout": _IDLE, "cull_interval": max(1, _IDLE // 2)}
    app.update_config(Config({**sockets, "MappingKernelManager": culled}))
    app.initialize([])
    app.voila_configuration.prelaunch_hook = _set_xsrf_cookie
    app.voila_configuration.extension_allowlist = _EXTENSIONS
    (place / "template").mkdir()
    (place / "template" / "index.html.j2").write_text(_TEMPLATE)
    app.template_paths = [str(place / "template"), *app.template_paths]
    return app
