"""How the site is built: `make docs`, offline; a warning is an error."""

import os
from importlib.metadata import version as version_of
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")

project = "nlgbench"
author = "The nlgbench developers"
version = release = version_of("nlgbench")
copyright = author

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.rst", "**.ipynb_checkpoints"]
root_doc = "index"

# Pages are also read on their own, beside the code: links between them are plain Markdown.
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
}

html_theme = "pydata_sphinx_theme"
html_title = "nlgbench"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_copy_source = False
html_static_path = []
html_sidebars = {"api": [], "index": []}
ROOT = Path(__file__).parent.parent


def drawings(block: tuple, block_vars: dict, gallery_conf: dict) -> str:
    """Show the drawings that an example's block has made, each with its words."""
    from nlgbench.plots.figures import Drawing

    shown = gallery_conf.setdefault("_shown", set())
    lines = []
    for value in block_vars["example_globals"].values():
        if isinstance(value, Drawing) and id(value) not in shown:
            shown.add(id(value))
            path = Path(next(block_vars["image_path_iterator"]))
            path.write_bytes(value.image("png"))
            source = path.relative_to(gallery_conf["src_dir"]).as_posix()
            lines += [f".. image:: /{source}", f"   :alt: {value.alt}", "   :width: 100%", ""]
    return "\n".join(lines)


sphinx_gallery_conf["image_scrapers"] = [drawings]
