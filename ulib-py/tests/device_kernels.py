"""Programs for tests, in PTX, and what their kernels got.

The kernel `fakecuda_parameters` of the software driver writes its parameters, as they lie in the kernel's memory, to the address
in the first one: that shows how arguments are packed without a card.
"""

import numpy as np
import uLib.cuda.driver as cuda

HEAD = ".version 7.0\n.target sm_60\n.address_size 64\n"
NOTHING = HEAD + ".visible .global .align 4 .b8 table[48];\n.visible .entry nothing()\n{\n    ret;\n}\n"


def entry(*parameters, name="fakecuda_parameters"):
    """A program whose kernel takes an address and these parameters, in PTX's words."""
    lines = [".param .u64 out", *(f".param {words}" for words in parameters)]
    return HEAD + f".visible .entry {name}(\n" + ",\n".join(lines) + "\n)\n{\n    ret;\n}\n"


def kernel(*parameters):
    return cuda.module_from_buffer(entry(*parameters).encode()).get_function("fakecuda_parameters")


def sent(function, *values, size, **how):
    """What the kernel got for these values, behind the address."""
    out = cuda.mem_alloc(size)
    function(out, *values, block=(1, 1, 1), **how)
    cuda.Context.synchronize()
    got = np.zeros(size, np.uint8)
    cuda.memcpy_dtoh(got, out)
    assert got[:8].view(np.uint64)[0] == int(out)
    return got[8:].tobytes()
