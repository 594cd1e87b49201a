"""Kernel backends side by side on this machine: first correct, then timed."""
