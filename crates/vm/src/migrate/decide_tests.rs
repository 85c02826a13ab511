use super::*;
use crate::migrate::scale::Hardware;
use proptest::prelude::*;

fn host(khz: u32, scaling: Option<bool>) -> Host {
    Host {
        tsc: Some(Tsc { khz, slack_khz: 0 }),
        scaling,
        hardware: Some(Hardware::Vmx),
        invariant: Some(true),
        ..Host::unknown("b")
    }
}

fn guest(manager: Manager, invtsc: bool, frequency: Frequency) -> Guest {
    Guest {
        name: None,
        manager,
        invtsc: Some(invtsc),
        frequency,
        reenlightenment: false,
        emulated: false,
        clockless: false,
        device: false,
        sev: Sev::No,
    }
}

#[test]
fn every_verdict() {
    use Manager::{Libvirt, Qemu};
    let set = Frequency::Set(2_500_000_000);
    let none = Frequency::Absent;
    let mut old = host(2_500_000, Some(true));
    old.invariant = Some(false);
    let mut vague = host(2_500_000, Some(false));
    vague.tsc = Some(Tsc { khz: 2_500_625, slack_khz: 10 });
    let blank = Host::unknown("blank");
    let table = [
        (guest(Libvirt, true, none), host(2_500_000, Some(true)), Verdict::Refused, "libvirt"),
        (guest(Qemu, true, none), host(2_500_000, Some(true)), Verdict::Refused, "QEMU"),
        (guest(Libvirt, false, none), blank.clone(), Verdict::Free, ""),
        (guest(Libvirt, true, set), old.clone(), Verdict::Refused, "libvirt"),
        (guest(Qemu, true, set), old, Verdict::Unsafe, "QEMU"),
        (guest(Libvirt, true, set), host(2_500_000, Some(false)), Verdict::Exact, ""),
        (guest(Libvirt, true, set), host(2_500_600, Some(true)), Verdict::HostRate, ""),
        (guest(Libvirt, true, set), host(3_000_000, Some(true)), Verdict::Scaled, ""),
        (guest(Libvirt, true, set), host(3_000_000, Some(false)), Verdict::Refused, "libvirt"),
        (guest(Libvirt, false, set), host(3_000_000, Some(false)), Verdict::Refused, "libvirt"),
        (guest(Qemu, true, set), host(2_000_000, Some(false)), Verdict::Refused, "QEMU"),
        (guest(Qemu, true, set), host(2_000_000, None), Verdict::Unknown, ""),
        (guest(Qemu, true, set), blank.clone(), Verdict::Unknown, ""),
        (guest(Qemu, true, set), vague.clone(), Verdict::Unknown, ""),
        (guest(Qemu, true, set), Host { scaling: Some(true), ..vague }, Verdict::Goes, ""),
        (guest(Manager::Unknown, true, Frequency::Unknown), blank, Verdict::Unknown, ""),
    ];
    for (guest, host, verdict, by) in table {
        let answer = decide(&guest, &host);
        assert_eq!(answer.verdict, verdict, "{guest:?} {host:?} {answer:?}");
        assert_eq!(answer.by.unwrap_or_default(), by, "{answer:?}");
        assert_eq!(answer.message.is_some(), !by.is_empty());
    }
}

#[test]
fn the_words_of_those_who_refuse() {
    let set = Frequency::Set(2_500_000_000);
    let answer = decide(&guest(Manager::Libvirt, true, set), &host(2_400_000, Some(false)));
    assert_eq!(
        answer.message.unwrap(),
        "Requested TSC frequency 2500000000 Hz is outside tolerance range ([2399400000, 2400600000] \
         Hz) around host frequency 2400000000 Hz and TSC scaling is not supported by the host CPU"
    );
    let answer = decide(&guest(Manager::Qemu, true, set), &host(2_400_000, Some(false)));
    assert_eq!(
        answer.message.unwrap(),
        "TSC frequency mismatch between VM (2500000 kHz) and host (2400000 kHz), and TSC scaling \
         unavailable"
    );
}

#[test]
fn what_the_clock_does() {
    let guest = guest(Manager::Libvirt, true, Frequency::Set(2_500_000_999));
    // The 999 Hz below 1 kHz are lost.
    let clock = decide(&guest, &host(2_500_600, Some(true))).clock.unwrap();
    assert_eq!((clock.guest_khz, clock.error_ppb), (2_500_000, 240_000));
    assert_eq!((clock.day_ns, clock.multiplier), (20_736_000_000, None));
    let clock = decide(&guest, &host(3_000_000, Some(true))).clock.unwrap();
    assert_eq!((clock.multiplier, clock.frac_bits), (Some(0xd555_5555_5555), Some(48)));
    assert_eq!((clock.error_ppb, clock.day_ns), (0, 0));
}

fn tristate() -> impl Strategy<Value = Option<bool>> {
    prop_oneof![Just(None), Just(Some(true)), Just(Some(false))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// An unknown fact never leads to an answer that the known fact could reverse.
    #[test]
    fn to_know_more_overturns_nothing(
        khz in 2_498_000u32..2_502_000, off in -30i64..=30, slack_khz in 0u32..30,
        scaling in tristate(), invariant in tristate(), invtsc in tristate(),
        libvirt in any::<bool>(), real_scaling in any::<bool>(), real_invariant in any::<bool>(),
        real_invtsc in any::<bool>(),
    ) {
        let manager = if libvirt { Manager::Libvirt } else { Manager::Qemu };
        let frequency = Frequency::Set(2_500_000_000);
        let vague = Guest { name: None, manager, invtsc, frequency, reenlightenment: false, emulated: false, clockless: false, device: false, sev: Sev::No };
        let mut host = host(khz, scaling);
        host.tsc = Some(Tsc { khz, slack_khz });
        host.invariant = invariant;
        let answer = decide(&vague, &host).verdict.goes();

        let known = Guest { invtsc: Some(invtsc.unwrap_or(real_invtsc)), ..vague };
        let off = off.clamp(-i64::from(slack_khz), i64::from(slack_khz));
        let khz = u32::try_from(i64::from(khz) + off).unwrap();
        host.tsc = Some(Tsc { khz, slack_khz: 0 });
        host.scaling = Some(scaling.unwrap_or(real_scaling));
        host.invariant = Some(invariant.unwrap_or(real_invariant));
        let truth = decide(&known, &host).verdict.goes();
        prop_assert!(truth.is_some());
        prop_assert!(answer.is_none() || answer == truth, "{:?} {:?}", answer, truth);
    }
}

#[test]
fn decide_reenlightened_without_a_frequency_is_refused() {
    let host = host(2_500_000, Some(true));
    let again =
        Guest { reenlightenment: true, ..guest(Manager::Libvirt, false, Frequency::Absent) };
    let answer = decide(&again, &host);
    assert_eq!((answer.verdict, answer.by), (Verdict::Refused, Some("QEMU")));
    let set = Guest { frequency: Frequency::Set(2_500_000_000), ..again };
    assert_eq!(decide(&set, &host).verdict.goes(), Some(true));
}

#[test]
fn decide_emulated_guests_go_unless_they_start_nowhere() {
    let host = host(2_500_000, Some(true));
    let emulated =
        |invtsc| Guest { emulated: true, ..guest(Manager::Libvirt, invtsc, Frequency::Absent) };
    assert_eq!(decide(&emulated(false), &host).verdict, Verdict::Free);
    assert_eq!(decide(&emulated(true), &host).verdict, Verdict::Refused);
}

#[test]
fn guest_with_a_device_of_its_host_is_not_said_to_go() {
    let set = Frequency::Set(2_500_000_000);
    let free = guest(Manager::Libvirt, false, Frequency::Absent);
    for one in [free, guest(Manager::Qemu, true, set)] {
        let host = host(2_500_000, Some(true));
        assert_eq!(decide(&one, &host).verdict.goes(), Some(true));
        let answer = decide(&Guest { device: true, ..one }, &host);
        assert_eq!(answer.verdict, Verdict::Unknown);
        assert_eq!(answer.missing.last().map(|it| it.fact), Some("migration of the device"));
    }
    // What its clock forbids stays forbidden.
    let held = Guest { device: true, ..guest(Manager::Libvirt, true, Frequency::Absent) };
    assert_eq!(decide(&held, &host(2_500_000, Some(true))).verdict, Verdict::Refused);
}

#[test]
fn guest_of_sev_is_refused_whatever_its_clock_is() {
    let host = host(2_500_000, Some(true));
    let set = Frequency::Set(2_500_000_000);
    for one in [
        guest(Manager::Libvirt, false, Frequency::Absent),
        guest(Manager::Qemu, true, set),
        guest(Manager::Qemu, true, Frequency::Absent),
        Guest { device: true, ..guest(Manager::Qemu, false, Frequency::Absent) },
    ] {
        for (sev, message) in [
            (Sev::Sev, "SEV: Migration is not implemented"),
            (Sev::Snp, "SEV-SNP: Migration is not implemented"),
        ] {
            let answer = decide(&Guest { sev, ..one.clone() }, &host);
            assert_eq!((answer.verdict, answer.by), (Verdict::Refused, Some("QEMU")), "{one:?}");
            assert_eq!(answer.message.as_deref(), Some(message));
        }
        let known = decide(&one, &host).verdict;
        let perhaps = decide(&Guest { sev: Sev::Perhaps, ..one.clone() }, &host);
        match known {
            Verdict::Refused => assert_eq!(perhaps.verdict, known),
            _ => assert_eq!(perhaps.verdict, Verdict::Unknown),
        }
        let missing = perhaps.missing.iter().any(|it| it.fact == "SEV of the guest");
        assert_eq!(missing, known != Verdict::Refused);
    }
}

#[test]
fn guest_without_a_paravirtual_clock_is_not_said_to_have_one() {
    let plain = guest(Manager::Qemu, false, Frequency::Absent);
    let none = Guest { clockless: true, ..plain.clone() };
    let emulated = Guest { emulated: true, ..plain.clone() };
    let host = host(2_500_000, None);
    assert!(decide(&plain, &host).why.contains("kvm-clock or Hyper-V page is created again"));
    for guest in [none, emulated] {
        let answer = decide(&guest, &host);
        assert_eq!(answer.verdict, Verdict::Free);
        assert!(!answer.why.contains("created again"), "{}", answer.why);
    }
}
