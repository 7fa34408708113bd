"""What answers the papers' claims, one module per paper."""
