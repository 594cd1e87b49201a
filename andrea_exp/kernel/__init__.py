"""Kernel backends: who computes each of the three measured operations."""
