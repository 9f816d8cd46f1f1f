"""Lesson 1 in Python: an object that knows where it is.

Says where an image should live, and asks where it is after each step. On a machine with no GPU the answers differ and the numbers do not.

    python 01_placement.py
"""

import uLib


def main():
    # 64 x 64 x 64 voxels of a value and a count. All of them are zero, and in host memory.
    image = uLib.VoxImage(64, 64, 64)
    say("a new image", image)

    # The preference is recorded whether or not it can be honoured; the answer says whether it was.
    moved = image.SetPreferredDevice("Device")
    say("with the preference Device", image)
    print(f"    moved: {moved}, a device could be used: {image.CanUseDevice()}")

    # These run where the voxels are.
    image.Fill(1.5)
    image.Scale(2)
    say("filled with 1.5 and scaled by 2", image)
    print(f"    the sum is {image.Sum()}")

    # Reading one value brings the block home and changes nothing, so both copies are current.
    print(f"    voxel (1, 2, 3) is {image.GetValue(1, 2, 3)}")
    say("after a read on the host", image)

    # A change on the host makes the host copy the newer one, until the next update.
    image.SetValue(1, 2, 3, 100)
    say("after a change on the host", image)
    image.Update()
    say("after an update", image)
    print(f"    the sum is {image.Sum()}")

    copies = image.Transfers
    print(f"    copied so far: {copies.uploads} up ({copies.bytes_up} bytes), {copies.downloads} down ({copies.bytes_down} bytes)")

    released = image.ReleaseDevice()
    say("released: home again, the memory given back", image)
    print(f"    nothing is left on the device: {released}")


def say(step, image):
    print(f"{step}\n    {image.GetDataLocation()}")


if __name__ == "__main__":
    main()
