"""Text generators that sample texts and compute the exact log-probability of any text."""
