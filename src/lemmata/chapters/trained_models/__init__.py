"""What theory says about one trained model: gauges, each of them a claim posed a model with its rows."""
