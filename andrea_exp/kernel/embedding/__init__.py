"""Backends of the token gather with its position rows."""
