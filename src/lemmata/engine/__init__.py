"""The engine of claims: verdicts, the search for counterexamples, the ledger, records, sources and test problems."""
