from dataclasses import fields

import torch

from ansgt.sequences import SequenceLayout, TokenKind
from ansgt.testing import RandomSequences

LAYOUT = SequenceLayout(num_sampled=3, num_supernodes=2, num_global=1)


def test_slots_of_a_layout_follow_each_other_and_cover_it() -> None:
    slots = torch.arange(LAYOUT.length)
    parts = [slots[:1], slots[LAYOUT.sampled], slots[LAYOUT.supernodes], slots[LAYOUT.globals]]
    assert torch.equal(torch.cat(parts), slots)
    assert [len(part) for part in parts] == [1, 3, 2, 1]


def test_the_kind_of_a_token_is_that_of_its_slot() -> None:
    kinds = {
        TokenKind.NODE: LAYOUT.sampled,
        TokenKind.SUPER: LAYOUT.supernodes,
        TokenKind.GLOBAL: LAYOUT.globals,
    }
    assert LAYOUT.kind[0] == TokenKind.CENTRE
    for kind, slots in kinds.items():
        assert (LAYOUT.kind[slots] == kind).all()
    batch = RandomSequences(9, 2, 2, LAYOUT, 2, 4)(torch.arange(5))
    assert torch.equal(batch.kind, LAYOUT.kind.expand(10, 7))


def test_a_layout_without_supernodes_and_globals() -> None:
    layout = SequenceLayout(2)
    assert layout.length == 3
    assert torch.arange(3)[layout.supernodes].numel() == torch.arange(3)[layout.globals].numel() == 0


def test_a_batch_has_one_centre_per_sequence_and_moves_as_a_whole() -> None:
    batch = RandomSequences(9, 2, 2, LAYOUT, 2, 4)(torch.tensor([4, 7]))
    assert (len(batch), batch.centre.tolist()) == (4, [4, 4, 7, 7])
    moved = batch.to("meta")
    for field in fields(batch):
        value = getattr(moved, field.name)
        if isinstance(value, torch.Tensor):
            assert value.device.type == "meta", field.name
        else:
            assert value is getattr(batch, field.name), field.name
