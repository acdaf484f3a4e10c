"""Time of work on a CUDA device, replayed as a graph so that the host does not count."""

from collections.abc import Callable

import torch


def captured(work: Callable[[], object], calls: int = 1) -> torch.cuda.CUDAGraph:
    """`calls` calls of `work` as one graph, after three that warm up."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            work()
    return graph


def milliseconds(graph: torch.cuda.CUDAGraph, replays: int = 30) -> float:
    """Median over replays."""
    times = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]
