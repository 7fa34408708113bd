"""The explorer: a study's texts and figures with controls, in a notebook or as an app."""

from nlgbench.explorer.opening import explore as explore
