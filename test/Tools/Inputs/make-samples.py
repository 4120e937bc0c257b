"""Writes samples for octet-run-samples.mlir: y = relu(x) on float32[1,4]."""

import sys

import numpy as np

prefix = sys.argv[1]
many = np.array([[-1, 2, -3, 4], [5, -6, 7, 8], [-1, -2, 0, 1]], np.float32)
expected = np.maximum(many, 0)
other = expected.copy()
other[0, 0] += 0.25
other[2, 3] -= 0.5

np.savez(f"{prefix}.many.npz", x=many)
np.savez(f"{prefix}.many-expected.npz", y=expected)
np.savez(f"{prefix}.other.npz", y=other)
np.savez_compressed(f"{prefix}.one.npz", label=np.array([7]), x=many[:1])
np.savez(f"{prefix}.one-expected.npz", y=expected[:1])
np.save(f"{prefix}.one.npy", many[:1])
np.savez(f"{prefix}.wrong-name.npz", a=many, b=many)
np.savez(f"{prefix}.wrong-shape.npz", x=np.zeros(5, np.float32))
np.savez(f"{prefix}.wrong-type.npz", x=np.zeros((1, 4)))
