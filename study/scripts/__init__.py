"""Scripts of the study, run from the root of the repository as `python -m study.scripts.NAME`."""
