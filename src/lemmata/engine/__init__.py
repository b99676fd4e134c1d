"""The engine: claims and their verdicts, the search for counterexamples, the ledger, records, sources, problems."""
