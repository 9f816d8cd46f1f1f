"""Writes a NIfTI volume as raw little-endian float32, x fastest, and prints its dims."""

import sys

import nibabel
import numpy as np

image = nibabel.load(sys.argv[1])
data = np.asanyarray(image.dataobj)
while data.ndim > 3 and data.shape[-1] == 1:
    data = data[..., 0]
if data.ndim != 3:
    sys.exit(f"{sys.argv[1]}: a 3-D volume is needed, this one has shape {data.shape}")
data.astype("<f4").ravel(order="F").tofile(sys.argv[2])
print(*data.shape)
