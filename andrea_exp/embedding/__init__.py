"""Token embeddings: ids (B, T) to vectors (B, T, D), position rows added."""
