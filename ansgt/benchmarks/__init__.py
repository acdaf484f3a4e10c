"""The project's own benchmarks, one file each; every one prints a ratio against a named peer measured in the same run."""
