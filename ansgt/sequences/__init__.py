"""Sequences: from sampled ids to what the transformer reads."""

from ansgt.sequences.batch import SequenceBatch, SequenceLayout, TokenKind

__all__ = ["SequenceBatch", "SequenceLayout", "TokenKind"]
