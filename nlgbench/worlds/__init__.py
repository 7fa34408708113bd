"""Simulated studies whose truth is known."""
