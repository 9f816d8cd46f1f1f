"""Lesson 4 in Python: a slice of a volume on the GPU, drawn by OpenGL without a trip to the host.

A kernel colours the slice straight into a texture of OpenGL's, which draws it into a picture, each voxel as a square of pixels. Only the
finished picture comes home. It needs a GPU, the CUDA compiler (NVRTC) and the package moderngl, and says so where one is missing.

    python 04_slice_in_opengl.py
    python 04_slice_in_opengl.py --volume labels.npy --index 3 --window 0 12 --out slice.png
"""

import argparse
import pathlib
import struct
import sys
import zlib

import numpy as np
import uLib
import uLib.cuda.driver as cuda
from uLib.cuda import gl

# Voxels along each side of the phantom, pixels along each side of a voxel, and the target of a picture in OpenGL.
SIDE = 64
ZOOM = 8
TEXTURE_2D = 0x0DE1

# From black over red and yellow to white.
KERNEL = """
__device__ unsigned char level(float share) { return (unsigned char)(255.0f * fminf(fmaxf(share, 0.0f), 1.0f) + 0.5f); }

extern "C" __global__ void colour(const unsigned char *slice, size_t row, size_t step, cudaSurfaceObject_t picture, int width, int height,
                                  float low, float scale)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float share = 3.0f * scale * (*(const float *)(slice + y * row + x * step) - low);
    surf2Dwrite(make_uchar4(level(share), level(share - 1.0f), level(share - 2.0f), 255), picture, 4 * x, y);
}
"""

VERTICES = """
#version 330
out vec2 at;
void main()
{
    // One triangle that covers the picture.
    at = vec2(gl_VertexID == 1 ? 2.0 : 0.0, gl_VertexID == 2 ? 2.0 : 0.0);
    gl_Position = vec4(2.0 * at - 1.0, 0.0, 1.0);
}
"""
PIXELS = """
#version 330
uniform sampler2D picture;
in vec2 at;
out vec4 colour;
void main() { colour = texture(picture, at); }
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volume", metavar="FILE", help="a volume that uLib reads; without one, a phantom")
    parser.add_argument("--index", type=int, help="the slice along z (default: the middle one)")
    parser.add_argument("--window", type=float, nargs=2, metavar=("LOW", "HIGH"), help="the values that are black and white (default: the smallest and largest)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("slice.png"), help="the picture (default: slice.png)")
    arguments = parser.parse_args()
    print(uLib.device.describe())
    if not uLib.device.available():
        return "there is no GPU that could colour it"
    try:
        import moderngl
    except ImportError:
        return "the package moderngl is not installed: python -m pip install moderngl"
    try:
        # A context without a window. The libraries by the names they have without the packages for developers.
        context = moderngl.create_standalone_context(backend="egl", libgl="libGL.so.1", libegl="libEGL.so.1")
    except Exception as error:
        return f"OpenGL gives no context: {error}"
    with context:
        elsewhere = f"OpenGL is drawn by {context.info['GL_RENDERER']}, not by the GPU that has the volume"
        try:
            if cuda.Context.get_device() not in gl.gl_devices():
                return elsewhere
        except cuda.Error as error:
            return f"{elsewhere} ({error})"
        try:
            colour = cuda.SourceModule(KERNEL, no_extern_c=True).get_function("colour")
        except cuda.RuntimeError as error:
            return f"the kernel cannot be compiled: {error}"

        volume = phantom() if arguments.volume is None else uLib.io.read_image(arguments.volume)
        volume.PreferredDevice = "Device"
        print(f"volume {volume.GetDataLocation()}")
        index = volume.GetDims()[2] // 2 if arguments.index is None else arguments.index
        picture = drawn(context, coloured(context, volume, index, arguments.window, colour))
    arguments.out.write_bytes(png(picture))
    print(f"slice {index} along z, {picture.shape[1]} x {picture.shape[0]} pixels, in {arguments.out}")
    return None


def coloured(context, volume, index, window, colour):
    """A texture of OpenGL's with the colours of a slice, which the device has written."""
    width, height, slices = volume.GetDims()
    if not 0 <= index < slices:
        sys.exit(f"04_slice_in_opengl.py: there is no slice {index}, only 0 to {slices - 1}")
    low, high = (volume.Min(), volume.Max()) if window is None else window
    texture = context.texture((width, height), 4)
    registered = gl.RegisteredImage(texture.glo, TEXTURE_2D, cuda.graphics_register_flags.SURFACE_LDST)
    # While it is mapped the texture is the device's, and while the view lives the voxels stay where they are.
    with registered.map() as mapping, volume.Grid().DeviceView() as voxels:
        size = np.dtype(voxels.Typestr).itemsize
        plane, row, step = voxels.Strides or (width * height * size, width * size, size)
        colour(
            np.uint64(voxels.__cuda_array_interface__["data"][0] + index * plane), np.uint64(row), np.uint64(step),
            cuda.SurfaceObject(mapping.array()), np.int32(width), np.int32(height),
            np.float32(low), np.float32(1 / (high - low) if high > low else 0),
            block=(16, 16, 1), grid=(-(-width // 16), -(-height // 16)),
        )  # fmt: skip
    registered.unregister()
    return texture


def drawn(context, texture):
    """The pixels of a texture, each texel as a square of them, y up: (height, width, 3)."""
    width, height = ZOOM * texture.width, ZOOM * texture.height
    # Pixels are voxels, not something between them.
    texture.filter = (context.NEAREST, context.NEAREST)
    target = context.simple_framebuffer((width, height), 3)
    target.use()
    texture.use(0)
    target.clear()
    context.vertex_array(context.program(vertex_shader=VERTICES, fragment_shader=PIXELS), []).render(context.TRIANGLES, vertices=3)
    if context.error != "GL_NO_ERROR":
        sys.exit(f"04_slice_in_opengl.py: OpenGL reports {context.error}")
    # The rows of OpenGL's pictures go up, those of files down.
    return np.frombuffer(target.read(components=3, alignment=1), np.uint8).reshape(height, width, 3)[::-1]


def phantom():
    """A ball with a core in it."""
    z, y, x = np.indices((SIDE, SIDE, SIDE))
    squared = sum((2 * i - (SIDE - 1)) ** 2 for i in (x, y, z))
    image = uLib.VoxImage(SIDE, SIDE, SIDE)
    image.SetValues((np.where(squared <= 30**2, 3, squared <= 56**2) + x / SIDE).astype(np.float32))
    return image


def png(pixels):
    """A picture as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)
    lines[:, 1:] = pixels.reshape(height, 3 * width)
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    parts = (struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


if __name__ == "__main__":
    reason = main()
    if reason:
        print(f"nothing is drawn: {reason}")
