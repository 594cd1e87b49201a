"""Outputs: hidden states (B, T, D) to the features and rows whose products are the logits."""
