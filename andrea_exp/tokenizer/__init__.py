"""The first step of the walk: text to ids, and back."""
