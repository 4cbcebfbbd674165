"""Multi-layer perceptrons: plain, and by kernels on a GPU, behind one protocol (`backend.py`)."""
