"""CUDA graphs: the collector sleeps while one is captured."""

import gc

import pytest
import torch
from torch import Tensor

from ansgt.prediction.capture import Captured, uncollected


@pytest.mark.parametrize("enabled", [True, False])
def test_uncollected_leaves_the_collector_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(KeyError), uncollected():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_no_garbage_is_collected_during_capture() -> None:
    enabled = []

    def function(x: Tensor) -> Tensor:
        enabled.append(gc.isenabled())
        return x + 1

    captured = Captured(function, warmup=1)
    assert float(captured(torch.zeros(1, device="cuda"))) == 1
    assert enabled == [True, False]
