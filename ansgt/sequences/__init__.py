"""Sequences: from sampled ids to what the transformer reads."""

from ansgt.sequences.batch import SequenceBatch, SequenceLayout, TokenKind
from ansgt.sequences.builder import BuilderOptions, SequenceBuilder
from ansgt.sequences.proximity import CoarseLike, Proximity
from ansgt.sequences.settings import SequenceSettings

__all__ = [
    "BuilderOptions",
    "CoarseLike",
    "Proximity",
    "SequenceBatch",
    "SequenceBuilder",
    "SequenceLayout",
    "SequenceSettings",
    "TokenKind",
]
