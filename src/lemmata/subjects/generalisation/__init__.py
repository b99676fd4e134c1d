"""Why the error on new data is close to the error that was measured: stability, complexity, deviation, the Lasso."""
