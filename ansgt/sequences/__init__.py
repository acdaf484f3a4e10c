"""Sequences: from sampled ids to what the transformer reads."""

from ansgt.sequences.batch import SequenceBatch, SequenceLayout, TokenKind
from ansgt.sequences.builder import SequenceBuilder
from ansgt.sequences.proximity import Proximity

__all__ = ["Proximity", "SequenceBatch", "SequenceBuilder", "SequenceLayout", "TokenKind"]
