"""The explorer: a study's figures with controls, in a notebook or as an app."""

from nlgbench.explorer.opening import explore as explore
