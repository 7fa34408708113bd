"""`python -m nlgbench` is the command `nlgbench`."""

from nlgbench.runner import main

main()
