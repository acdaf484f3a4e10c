"""Where Triton kernels can be tested: on CUDA, or anywhere with TRITON_INTERPRET=1; elsewhere importing this skips."""

import os

import pytest
import torch

triton, tl = pytest.importorskip("triton"), pytest.importorskip("triton.language")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
if not (torch.cuda.is_available() or INTERPRETED):
    pytest.skip("needs CUDA or TRITON_INTERPRET=1", allow_module_level=True)
