"""A folder of runs to hand on: a page, numbers and tables for LaTeX, and two sheets."""
