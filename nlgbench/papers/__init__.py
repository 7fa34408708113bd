"""What answers the claims of the papers, one module per paper."""
