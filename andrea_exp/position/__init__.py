"""Position schemes: what is added to the token vectors, how q and k turn, what biases scores."""
