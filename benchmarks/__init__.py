"""Benchmarks: this package beside the same inferences on Triton's C API (`python -m benchmarks`)."""
