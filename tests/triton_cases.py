"""Where Triton kernels are tested: on CUDA if there is one, else in Triton's interpreter (`conftest.py`); without triton
importing this skips the test module."""

import os

import pytest

triton, tl = pytest.importorskip("triton"), pytest.importorskip("triton.language")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
