"""The study: what was asked of ANS-GT on public data sets, how it was measured, and every record behind the tables."""
