"""The second step of the walk: documents to ids, split, and batches (B, T) by seed and number."""
