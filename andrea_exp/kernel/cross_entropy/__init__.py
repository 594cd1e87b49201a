"""Backends of the output projection with its loss."""
