"""Runs: from a request to a record."""
