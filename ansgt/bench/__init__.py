"""The benchmarks of `ansgt bench`, one file each; each prints its ratio to a named peer."""
