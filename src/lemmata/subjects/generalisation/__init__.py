"""Why the error on new data is close to the measured error: stability, complexity, deviation bounds and the Lasso."""
