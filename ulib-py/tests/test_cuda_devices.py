"""Devices of `uLib.cuda`: what they are, their attributes, and the enumerations of the driver layer."""

import pathlib
import pickle
import re

import pytest
import uLib.cuda.driver as cuda

HEADER = pathlib.Path(__file__).parents[2] / "ulib-device/src/sys/types.rs"


def test_devices_by_ordinal_and_by_address(gpu):
    assert cuda.Device.count() >= 1
    device = cuda.Device(0)
    assert cuda.Device(device.pci_bus_id()) == device
    assert cuda.Device(device.pci_bus_id().lower()) == device
    assert hash(cuda.Device(0)) == hash(device)
    assert device != 0
    assert (device.ordinal, device.handle) == (0, 0)
    assert device.name() in repr(device)
    assert pickle.loads(pickle.dumps(device)) == device


@pytest.mark.parametrize("ordinal", [-1, 1000, 2**80, "0000:ff:1f.7", "no address"])
def test_a_device_that_is_not_there_is_named(gpu, ordinal):
    with pytest.raises(cuda.LogicError, match=re.escape(str(ordinal)) if ordinal != 2**80 else None):
        cuda.Device(ordinal)


def test_a_device_is_a_number_or_an_address(gpu):
    for wrong in (1.5, None, [0]):
        with pytest.raises(TypeError, match="ordinal"):
            cuda.Device(wrong)


def test_the_devices_of_the_software_driver(fake):
    first, second = cuda.Device(0), cuda.Device(1)
    assert [first.name(), second.name()] == ["Fake GPU 0", "Fake GPU 1"]
    assert first != second
    assert first.compute_capability() == (8, 6)
    assert first.pci_bus_id() == "0000:01:00.0"
    assert first.can_access_peer(second)
    assert first.multiprocessor_count == 2
    assert first.get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 99 * 1024


def test_attributes_in_every_spelling(gpu):
    device = cuda.Device(0)
    assert device.warp_size == 32
    assert device.get_attribute(cuda.device_attribute.WARP_SIZE) == 32
    everything = device.get_attributes()
    assert everything[cuda.device_attribute.WARP_SIZE] == 32
    assert len(everything) > 100
    for attribute, value in everything.items():
        assert isinstance(attribute, cuda.device_attribute)
        assert device.get_attribute(attribute) == value
    assert device.get_attribute(cuda.device_attribute.COMPUTE_MODE) is cuda.compute_mode.DEFAULT
    assert device.compute_mode is cuda.compute_mode.DEFAULT
    assert device.cluster_launch in (0, 1)
    assert device.cooperative_launch in (0, 1)
    assert device.total_memory() > 1 << 20


def test_an_attribute_that_does_not_exist(gpu):
    device = cuda.Device(0)
    assert not hasattr(device, "wings")
    with pytest.raises(AttributeError, match="wings"):
        device.wings
    with pytest.raises(cuda.LogicError, match="cuDeviceGetAttribute"):
        device.get_attribute(9999)


def test_an_attribute_that_the_driver_refuses_is_absent(fake):
    fake("fail cuDeviceGetAttribute:1:1")
    assert not hasattr(cuda.Device(0), "cluster_launch")
    assert hasattr(cuda.Device(0), "cluster_launch")


def test_a_driver_that_fails_is_no_absent_attribute(fake):
    device = cuda.Device(0)
    for ask in (lambda: device.warp_size, device.get_attributes, lambda: device.get_attribute(10)):
        fake("fail cuDeviceGetAttribute:1:700")
        with pytest.raises(cuda.Error, match="700") as caught:
            ask()
        assert not isinstance(caught.value, AttributeError)


def test_access_to_a_peer_ends_when_closed(fake):
    first, second = cuda.Device(0), cuda.Device(1)
    with first.enable_peer_access(second) as access:
        assert isinstance(access, cuda.PeerAccess)
        assert fake.count("cuCtxEnablePeerAccess") == 1
    access.close()
    del access
    assert fake.count("cuCtxDisablePeerAccess") == 1
    first.enable_peer_access(second)
    assert fake.count("cuCtxDisablePeerAccess") == 2
    with pytest.raises(cuda.LogicError, match="another device"):
        first.enable_peer_access(first)


ENUMERATIONS = {
    "address_mode": "CU_TR_ADDRESS_MODE_",
    "array_cubemap_face": "CU_CUBEMAP_FACE_",
    "array_format": "CU_AD_FORMAT_",
    "compute_mode": "CU_COMPUTEMODE_",
    "ctx_flags": "CU_CTX_",
    "device_attribute": "CU_DEVICE_ATTRIBUTE_",
    "event_flags": "CU_EVENT_",
    "filter_mode": "CU_TR_FILTER_MODE_",
    "func_cache": "CU_FUNC_CACHE_",
    "function_attribute": "CU_FUNC_ATTRIBUTE_",
    "graphics_register_flags": "CU_GRAPHICS_REGISTER_FLAGS_",
    "ipc_mem_flags": "CU_IPC_MEM_",
    "jit_fallback": "CU_PREFER_",
    "jit_input_type": "CU_JIT_INPUT_",
    "jit_option": "CU_JIT_",
    "jit_target": "CU_TARGET_",
    "limit": "CU_LIMIT_",
    "mem_attach_flags": "CU_MEM_ATTACH_",
    "memory_type": "CU_MEMORYTYPE_",
    "pointer_attribute": "CU_POINTER_ATTRIBUTE_",
    "shared_config": "CU_SHARED_MEM_CONFIG_",
    "stream_flags": "CU_STREAM_",
}


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_members_have_the_numbers_of_the_driver(nodriver, name):
    header = HEADER.read_text()
    found = re.findall(rf"pub const {ENUMERATIONS[name]}(\w+):\s*\w+\s*=\s*\w+\((\d+)\)", header)
    declared = {member: int(number) for member, number in reversed(found)}
    enumeration = getattr(cuda, name)
    assert len(enumeration.names) >= 1
    for member, value in enumeration.names.items():
        if name == "jit_fallback":
            member = member.removeprefix("PREFER_")
        assert declared[member] == int(value), member
        assert type(value) is enumeration


def test_device_attributes_are_all_of_the_driver(nodriver):
    declared = re.findall(r"pub const CU_DEVICE_ATTRIBUTE_(\w+):", HEADER.read_text())
    assert set(cuda.device_attribute.names) == set(declared) - {"MAX"}


def test_members_are_numbers_with_names():
    flag = cuda.ctx_flags.SCHED_BLOCKING_SYNC
    assert flag == 4 and isinstance(flag, int)
    assert str(flag) == flag.name == "SCHED_BLOCKING_SYNC"
    assert repr(flag) == "ctx_flags.SCHED_BLOCKING_SYNC"
    assert cuda.ctx_flags.BLOCKING_SYNC is flag
    assert cuda.ctx_flags.names["BLOCKING_SYNC"] is flag is cuda.ctx_flags.values[4]
    assert cuda.ctx_flags(4) is flag
    assert flag | cuda.ctx_flags.MAP_HOST == 12
    assert pickle.loads(pickle.dumps(flag)) is flag
    newer = cuda.limit(77)
    assert newer == 77 and newer.name is None and repr(newer) == "limit(77)"
    assert pickle.loads(pickle.dumps(newer)) == 77
    assert len({flag, newer, 4}) == 2


def test_plain_flags_and_constants():
    flags = cuda.array3d_flags
    assert (flags.ARRAY3D_LAYERED, flags.ARRAY3D_2DARRAY, getattr(flags, "2DARRAY")) == (1, 1, 1)
    assert (flags.SURFACE_LDST, flags.CUBEMAP, flags.TEXTURE_GATHER) == (2, 4, 8)
    alloc, register = cuda.host_alloc_flags, cuda.mem_host_register_flags
    assert (alloc.PORTABLE, alloc.DEVICEMAP, alloc.WRITECOMBINED) == (1, 2, 4)
    assert (register.PORTABLE, register.DEVICEMAP) == (1, 2)
    assert (cuda.TRSA_OVERRIDE_FORMAT, cuda.TRSF_READ_AS_INTEGER, cuda.TRSF_NORMALIZED_COORDINATES) == (1, 1, 2)
    assert cuda.TR_DEFAULT == -1
    assert [mode.name for mode in cuda.profiler_output_mode.values.values()] == ["KEY_VALUE_PAIR", "CSV"]
    assert sorted(map(int, cuda.direction_vector_set.names.values())) == [101, 102, 103, 104]
