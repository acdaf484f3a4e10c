"""`Captured`: a function of one tensor of fixed shape, recorded as a CUDA graph on its first call and replayed after.

A training step here is several hundred kernels of a few microseconds each: launched one by one the host is the limit,
replayed as a graph the device is.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

Restore = Callable[[], None]


def _nothing() -> Restore:
    return lambda: None


@contextmanager
def uncollected() -> Iterator[None]:
    """A block in which Python collects no garbage.

    The graph of an earlier model sits in a reference cycle; if the collector happens to run during a capture, freeing that
    graph's memory ends the capture with an error and leaves the generator unusable for the rest of the process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Captured:
    """Calls `function` through a CUDA graph.

    What the function reads besides its argument (weights, tables of sequences) must stay at its address: write it in
    place. It must not wait for the device. Random numbers come from the default CUDA generator, which advances with
    every replay as it would have eagerly, and may be reseeded between replays.

    Args:
        function: takes one CUDA tensor, returns one.
        snapshot: called before the warm-up; returns what undoes the warm-up's effects in place. A training step needs it.
        warmup: eager calls before capture, on a side stream (lazy initialisation, compilation).
    """

    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        snapshot: Callable[[], Restore] = _nothing,
        warmup: int = 3,
    ) -> None:
        self.function = function
        self.snapshot = snapshot
        self.warmup = warmup
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, argument: Tensor) -> Tensor:
        """The function's result. The tensor is overwritten by the next call."""
        if self._graph is None:
            self._capture(argument)
        elif argument.shape != self._argument.shape:
            raise ValueError(
                f"captured for shape {list(self._argument.shape)}, called with {list(argument.shape)}"
            )
        assert self._graph is not None
        self._argument.copy_(argument, non_blocking=True)
        self._graph.replay()
        return self._result

    def reset(self) -> None:
        """Forgets the graph: the next call captures anew (tables at new addresses)."""
        self._graph = None

    def _capture(self, argument: Tensor) -> None:
        self._argument = argument.clone()
        state = torch.cuda.get_rng_state(argument.device)
        restore = self.snapshot()
        stream = torch.cuda.Stream(argument.device)
        stream.wait_stream(torch.cuda.current_stream(argument.device))
        with torch.cuda.stream(stream):
            for _ in range(self.warmup):
                self.function(self._argument)
        torch.cuda.current_stream(argument.device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with uncollected(), torch.cuda.graph(graph):
            self._result = self.function(self._argument)
        restore()
        torch.cuda.set_rng_state(state, argument.device)
        self._graph = graph
