use proptest::prelude::*;

use super::{
    BestByTransferCost, DeviceFacts, DeviceIfFits, HonourPreference, HostOnly, Location, Placement,
    PlacementPolicy, PlacementRequest, PreferredDevice, Reason,
};
use crate::error::{Error, ErrorKind};

fn facts(ordinal: u32, free: u64) -> DeviceFacts {
    DeviceFacts {
        ordinal,
        free,
        total: free,
    }
}

fn policies() -> Vec<Box<dyn PlacementPolicy>> {
    vec![
        Box::new(HonourPreference),
        Box::new(HostOnly),
        Box::new(DeviceIfFits { margin_bytes: 1000 }),
        Box::new(BestByTransferCost::default()),
    ]
}

#[test]
fn words_have_exactly_one_spelling() {
    let good = [
        ("Host", PreferredDevice::Host),
        ("Device", PreferredDevice::Device(0)),
        ("Device:0", PreferredDevice::Device(0)),
        ("Device:1", PreferredDevice::Device(1)),
        ("Device:4294967295", PreferredDevice::Device(u32::MAX)),
    ];
    for (word, meaning) in good {
        assert_eq!(word.parse::<PreferredDevice>().unwrap(), meaning);
    }
    let bad = [
        "",
        "host",
        "HOST",
        "device",
        " Device",
        "Device ",
        "Device:",
        "Device:-1",
        "Device:+1",
        "Device:01",
        "Device:1 ",
        "Device:4294967296",
        "Device:x",
        "Device:1:2",
        "Device::1",
        "Device 1",
        "cuda",
        "GPU",
        "Host:0",
        "Device:١",
    ];
    for word in bad {
        let error = word.parse::<PreferredDevice>().unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
        let text = error.to_string();
        assert!(text.contains(&format!("'{word}'")), "{text}");
        assert!(text.contains("'Host', 'Device' or 'Device:N'"), "{text}");
    }
}

#[test]
fn the_sentences_of_a_location() {
    let cases = [
        (Location::Host, "Host"),
        (Location::HostBecause(Reason::AsPreferred), "Host"),
        (
            Location::HostBecause(Reason::ChangedOnHost),
            "Host (changed on the host; back on the device at the next update)",
        ),
        (
            Location::HostBecause(Reason::NotDeviceStorable { what: "events" }),
            "Host (these events cannot be copied to a device)",
        ),
        (
            Location::HostBecause(Reason::NoSuchDevice {
                ordinal: 3,
                count: 1,
            }),
            "Host (no device 3: this machine has 1 device)",
        ),
        (
            Location::HostBecause(Reason::NoSuchDevice {
                ordinal: 2,
                count: 2,
            }),
            "Host (no device 2: this machine has 2 devices)",
        ),
        (
            Location::HostBecause(Reason::Driver("CUDA_ERROR_ILLEGAL_ADDRESS".into())),
            "Host (CUDA_ERROR_ILLEGAL_ADDRESS)",
        ),
    ];
    for (location, sentence) in cases {
        assert_eq!(location.to_string(), sentence);
    }
}

#[test]
fn a_reason_becomes_an_error_of_its_kind() {
    let kind = |reason: Reason| Error::from(reason).kind().clone();
    assert_eq!(
        kind(Reason::OutOfMemory { needs: 2, free: 1 }),
        ErrorKind::OutOfMemory { needs: 2, free: 1 }
    );
    assert_eq!(
        kind(Reason::Unavailable("x".into())),
        ErrorKind::Unavailable
    );
    assert_eq!(kind(Reason::Forked), ErrorKind::Forked);
    assert_eq!(kind(Reason::HostOnlyPolicy), ErrorKind::Residency);
    let reason = Reason::OutOfMemory { needs: 2, free: 1 };
    assert_eq!(Error::from(reason.clone()).to_string(), reason.to_string());
}

#[test]
fn obstacles_come_in_a_fixed_order() {
    let devices = [facts(0, 1 << 20)];
    let driver = Reason::Unavailable("no NVIDIA driver library: libcuda.so.1".into());
    let all = PlacementRequest::new(PreferredDevice::Device(5), 8, &devices)
        .with_unavailable(Some(&driver))
        .with_not_device_storable(Some("events"));
    assert_eq!(
        all.obstacle(),
        Some(Reason::NotDeviceStorable { what: "events" })
    );
    assert_eq!(
        all.with_not_device_storable(None).obstacle(),
        Some(driver.clone())
    );
    let missing = all
        .with_not_device_storable(None)
        .with_unavailable(None)
        .with_device_count(4);
    assert_eq!(
        missing.obstacle(),
        Some(Reason::NoSuchDevice {
            ordinal: 5,
            count: 4
        })
    );
}

#[test]
fn the_host_only_policy_says_so() {
    let devices = [facts(0, 1 << 20)];
    let request = PlacementRequest::new(PreferredDevice::Device(0), 8, &devices);
    assert_eq!(HostOnly.decide(&request).reason, Reason::HostOnlyPolicy);
}

#[test]
fn honouring_a_preference_leaves_memory_to_the_allocation() {
    let devices = [facts(0, 0)];
    let request = PlacementRequest::new(PreferredDevice::Device(0), 1 << 40, &devices);
    let decision = HonourPreference.decide(&request);
    assert_eq!(decision.placement, Placement::Device(0));
}

#[test]
fn a_margin_larger_than_memory_never_fits() {
    let devices = [facts(0, u64::MAX)];
    let policy = DeviceIfFits {
        margin_bytes: u64::MAX,
    };
    let request = PlacementRequest::new(PreferredDevice::Device(0), 1, &devices);
    assert_eq!(policy.decide(&request).placement, Placement::Host);
    let held = request.with_held_on(Some(0));
    assert_eq!(policy.decide(&held).placement, Placement::Device(0));
    let elsewhere = request.with_held_on(Some(1));
    assert_eq!(policy.decide(&elsewhere).placement, Placement::Host);
}

#[test]
fn the_cost_model_by_hand() {
    // 1000 bytes at 1 GB/s are 1000 ns on the host, 500 ns over the link, 100 ns on the device.
    let model = BestByTransferCost {
        host_bytes_per_s: 1_000_000_000,
        link_bytes_per_s: 2_000_000_000,
        device_bytes_per_s: 10_000_000_000,
        transfer_ns: 10,
        launch_ns: 5,
    };
    assert_eq!(model.host_ns(1000, 3), 3000);
    assert_eq!(model.device_ns(1000, 3, 2), 2 * 510 + 3 * 105);
    let devices = [facts(0, 1000)];
    let request = PlacementRequest::new(PreferredDevice::Device(0), 1000, &devices);
    assert_eq!(
        model.decide(&request).reason,
        Reason::NotWorthTransfer {
            host_ns: 1000,
            device_ns: 1125
        }
    );
    let twice = request.with_expected_uses(2);
    assert_eq!(model.decide(&twice).placement, Placement::Device(0));
    let there = request.with_held_on(Some(0));
    assert_eq!(model.decide(&there).placement, Placement::Device(0));
}

#[test]
fn a_speed_of_zero_is_never_chosen() {
    let model = BestByTransferCost {
        link_bytes_per_s: 0,
        ..BestByTransferCost::default()
    };
    assert_eq!(model.device_ns(1, 1, 2), u64::MAX);
    assert_eq!(model.host_ns(u64::MAX, u32::MAX), u64::MAX);
}

fn any_request_parts()
-> impl Strategy<Value = (Option<u32>, u64, Vec<u64>, bool, bool, u32, Option<u32>)> {
    (
        proptest::option::of(0_u32..4),
        prop_oneof![0_u64..4096, any::<u64>()],
        proptest::collection::vec(prop_oneof![0_u64..4096, any::<u64>()], 0..3),
        any::<bool>(),
        any::<bool>(),
        0_u32..100,
        proptest::option::of(0_u32..3),
    )
}

proptest! {
    #[test]
    fn words_round_trip(ordinal: u32) {
        for preferred in [PreferredDevice::Host, PreferredDevice::Device(ordinal)] {
            prop_assert_eq!(preferred.to_string().parse::<PreferredDevice>().unwrap(), preferred);
        }
    }

    #[test]
    fn every_policy_keeps_the_contract(
        (ordinal, bytes, free, broken, owning, uses, held) in any_request_parts()
    ) {
        let devices: Vec<DeviceFacts> =
            (0..).zip(&free).map(|(ordinal, &free)| facts(ordinal, free)).collect();
        let preferred = ordinal.map_or(PreferredDevice::Host, PreferredDevice::Device);
        let driver = Reason::Unavailable("no driver".into());
        let request = PlacementRequest::new(preferred, bytes, &devices)
            .with_unavailable(broken.then_some(&driver))
            .with_not_device_storable(owning.then_some("events"))
            .with_expected_uses(uses)
            .with_held_on(held);
        for policy in policies() {
            let decision = policy.decide(&request);
            prop_assert_eq!(&decision, &policy.decide(&request));
            if request.obstacle().is_some() || preferred == PreferredDevice::Host {
                prop_assert_eq!(decision.placement, Placement::Host);
            }
            let as_preferred = decision.placement == preferred.placement();
            prop_assert_eq!(decision.reason == Reason::AsPreferred, as_preferred, "{:?}", policy);
            if !as_preferred {
                prop_assert_eq!(decision.placement, Placement::Host);
            }
        }
    }

    #[test]
    fn more_uses_never_send_data_home(bytes in 0_u64..1 << 40, uses in 1_u32..1000) {
        let devices = [facts(0, u64::MAX)];
        let request = PlacementRequest::new(PreferredDevice::Device(0), bytes, &devices);
        let policy = BestByTransferCost::default();
        let few = policy.decide(&request.with_expected_uses(uses)).placement;
        let more = policy.decide(&request.with_expected_uses(uses + 1)).placement;
        prop_assert!(few == Placement::Host || more == Placement::Device(0));
    }
}
