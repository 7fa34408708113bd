"""Serve the explorer as a Voila app: only to this machine, and only with the token."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nlgbench.datasets.public import is_public
from nlgbench.explorer.opening import explore
from nlgbench.study.study import why_no_study

if TYPE_CHECKING:
    from tornado.web import RequestHandler
    from voila.app import Voila

    from nlgbench.explorer.widget import Explorer

HOST = "127.0.0.1"
#: The first port to try by default.
_PORT = 8866
#: Seconds until a kernel without a connected page ends, for example if the browser was killed.
_IDLE = 60
_IMPORT = "from nlgbench.explorer.serve import explore_or_explain\n\n"

# The parts of JupyterLab that the app needs: those for widgets.
_EXTENSIONS = [
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
]
# Voila's page, without the style sheets that it would load from other servers.
_TEMPLATE = """{%- extends 'voila/templates/lab/index.html.j2' -%}
{% import "spinner.macro.html.j2" as spinner %}
{%- block notebook_css -%}
{{ resources.include_js("static/voila-style.js") }}
{{ spinner.css() }}
{{ super.super() }}
{%- endblock notebook_css -%}
"""


def serve(folder: Path | None, port: int | None, runs: Path, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, which also end all kernels. Each new page reads the study."""
    if folder is not None and not is_public(str(folder)) and (why := why_no_study(folder)):
        raise FileNotFoundError(why)
    with tempfile.TemporaryDirectory(prefix="nlgbench-explore-") as scratch:
        name = None if folder is None else os.fspath(folder)
        if folder is not None and not is_public(name):
            name = os.fspath(folder.resolve())
        code = f"{_IMPORT}explore_or_explain({name!r}, {os.fspath(runs.resolve())!r})"
        app = _app(Path(scratch), code, port)
        from tornado.ioloop import IOLoop  # installed with Voila

        # The loop starts after the port is open, so the printed address works at once.
        IOLoop.current().add_callback(
            lambda: say(f"http://{HOST}:{app.port}/?token={app.token}  (press Ctrl-C to stop)")
        )
        try:
            app.start()
        finally:
            app.clear_instance()


def explore_or_explain(name: str | None, runs: str) -> Explorer | None:
    """Open the explorer in a page, or list what is wrong with the study."""
    try:
        return explore(name, runs=runs)
    except (OSError, ValueError) as error:
        print(error)
        return None


def _set_xsrf_cookie(page: RequestHandler, **_: object) -> None:
    """Give a page the cookie that lets it end its kernel when it closes."""
    page.xsrf_token  # noqa: B018, reading it sets the cookie


def _app(scratch: Path, code: str, port: int | None) -> Voila:
    try:
        import nbformat.v4 as form
        from traitlets.config import Config
        from voila.app import Voila
    except ImportError as error:
        raise ValueError(f"the app needs {error.name}: run pip install 'nlgbench[app]'.") from None
    cell = form.new_code_cell(code)
    metadata = {"title": "nlgbench explorer", "kernelspec": {"name": "python3", "display_name": ""}}
    notebook = scratch / "explorer.ipynb"
    notebook.write_text(form.writes(form.new_notebook(cells=[cell], metadata=metadata)))
    app = Voila.instance(
        ip=HOST,
        port=port or _PORT,
        port_retries=0 if port else 50,
        token=secrets.token_urlsafe(24),
        open_browser=False,
        notebook_path=str(notebook),
        log_level=logging.ERROR,
        tornado_settings={
            # Jupyter's default exceeds its own limit, which causes a warning.
            "ws_ping_timeout": 30_000,
            # Refuse requests to other host names that resolve to this machine.
            "allow_remote_access": False,
        },
        # Ignore the user's own configuration, because it could open the app to others.
        config_file_paths=[],
    )
    # Use sockets in a private folder, because two kernels could choose the same port.
    sockets = {"ConnectionFileMixin": {"transport": "ipc"}}
    culled = {"cull_idle_timeout": _IDLE, "cull_interval": max(1, _IDLE // 2)}
    app.update_config(Config({**sockets, "MappingKernelManager": culled}))
    app.initialize([])
    app.voila_configuration.prelaunch_hook = _set_xsrf_cookie
    app.voila_configuration.extension_allowlist = _EXTENSIONS
    (scratch / "template").mkdir()
    (scratch / "template" / "index.html.j2").write_text(_TEMPLATE)
    app.template_paths = [str(scratch / "template"), *app.template_paths]
    return app
