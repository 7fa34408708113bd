"""How the site is built: `make docs`, offline; a warning is an error."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import building  # noqa: E402

building.write_api(HERE / "api.rst")

project = "nlgbench"
author = copyright = "The nlgbench developers"
version = release = version_of("nlgbench")

extensions = [
    "building",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_build", "gallery", "auto_gallery/**/*.ipynb", "**/.ipynb_checkpoints"]
nitpicky = False

# Pages are also read in the repository: links between them are plain Markdown.
myst_enable_extensions = ["deflist", "dollarmath"]
html_math_renderer = "svg"
myst_heading_anchors = 3
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
    "image_scrapers": ["building.drawings"],
    "reset_modules": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "nlgbench"
html_theme_options = {
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "light"}
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
