"""Systems that write: each samples texts and gives the exact log-probability of any text."""
