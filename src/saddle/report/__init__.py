"""Figures and tables of a study. Nothing here imports JAX."""
