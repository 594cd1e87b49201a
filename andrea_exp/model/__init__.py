"""The decoder in plain torch: embedding, blocks, norm, output."""
