"""Parameters to updates: named groups, a learning rate by step, and one optimizer per file."""
