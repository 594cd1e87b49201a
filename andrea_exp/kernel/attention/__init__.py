"""Backends of scaled dot-product attention."""
