"""Scripts that run on the device; the benchmarks of `ansgt bench` are in `ansgt/benchmarks/`."""
