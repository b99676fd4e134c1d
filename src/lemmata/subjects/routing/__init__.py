"""What attention reads, how sharply, and which algorithm a predictor runs on the examples in its prompt."""
