//! The arithmetic against big integers, over the whole range of its inputs.

use super::*;
use num_bigint::{BigInt, BigUint};
use proptest::prelude::*;

fn big(value: impl Into<BigUint>) -> BigUint {
    value.into()
}

/// The low 64 bits.
fn low(value: &BigUint) -> u64 {
    let mask = big(u64::MAX);
    u64::try_from(value & mask).unwrap()
}

/// Modulo 2^64 of a signed number.
fn wrap(value: &BigInt) -> u64 {
    let modulus = BigInt::from(1u128 << 64);
    let rest = ((value % &modulus) + &modulus) % &modulus;
    u64::try_from(rest).unwrap()
}

/// Numbers of every length, not only the longest.
fn any_length() -> impl Strategy<Value = u64> {
    (0u32..=64, any::<u64>())
        .prop_map(|(bits, value)| value.checked_shr(64 - bits).unwrap_or_default())
}

fn khz() -> impl Strategy<Value = u32> {
    (0u32..=32, any::<u32>())
        .prop_map(|(bits, value)| value.checked_shr(32 - bits).unwrap_or_default())
}

fn hardware() -> impl Strategy<Value = Option<Hardware>> {
    prop_oneof![Just(None), Just(Some(Hardware::Vmx)), Just(Some(Hardware::Svm))]
}

/// `set_tsc_khz()` in big integers, written from the kernel's function.
fn reference(guest: u32, host: u32, hardware: Option<Hardware>, ppm: u32) -> Result<Rate, Refusal> {
    if guest == 0 || host == 0 {
        return Err(Refusal::Zero);
    }
    if let Some(hardware) = hardware {
        let scaled = (big(hardware.max_ratio()) * big(host)) >> hardware.frac_bits();
        let max = scaled.min(big(0x7fff_ffffu32));
        if big(guest) >= max {
            return Err(Refusal::TooFast { guest_khz: guest, max_khz: low(&max) });
        }
    }
    let ppm = ppm.min(1_000_000);
    let bound = |factor: u32| big(host) * big(factor) / big(1_000_000u32);
    // The kernel's function returns 32 bits.
    let cut = |bound: BigUint| bound & big(u32::MAX);
    let (low_bound, high_bound) = (cut(bound(1_000_000 - ppm)), cut(bound(1_000_000 + ppm)));
    if big(guest) >= low_bound && big(guest) <= high_bound {
        return Ok(Rate::Host);
    }
    let Some(hardware) = hardware else {
        return if guest > host { Ok(Rate::CatchUp) } else { Err(Refusal::BelowHardware) };
    };
    let ratio = low(&((big(guest) << hardware.frac_bits()) / big(host)));
    if ratio == 0 || ratio >= hardware.max_ratio() {
        return Err(Refusal::Ratio(guest));
    }
    Ok(Rate::Scaled(Ratio { multiplier: ratio, frac_bits: hardware.frac_bits() }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8192))]

    #[test]
    fn kvm_takes_what_big_integers_take(
        guest in khz(), host in khz(), hardware in hardware(), ppm in 0u32..2_000_000,
    ) {
        prop_assert_eq!(
            set_tsc_khz(guest, host, hardware, ppm),
            reference(guest, host, hardware, ppm)
        );
    }

    #[test]
    fn kvm_takes_what_is_near(
        host in khz(), off in -400i64..400, hardware in hardware(),
    ) {
        let guest = i64::from(host) + i64::from(host) * off / 1_000_000;
        let guest = u32::try_from(guest).unwrap_or_default();
        let expected = reference(guest, host, hardware, TOLERANCE_PPM);
        prop_assert_eq!(set_tsc_khz(guest, host, hardware, TOLERANCE_PPM), expected);
    }

    #[test]
    fn a_counter_is_scaled_as_big_integers_are(
        host in any_length(), multiplier in any_length(), frac_bits in 0u32..64, offset in any::<u64>(),
    ) {
        let ratio = Ratio { multiplier, frac_bits };
        let expected = low(&((big(host) * big(multiplier)) >> frac_bits));
        prop_assert_eq!(ratio.scale(host), expected);
        let sum = BigInt::from(expected) + BigInt::from(offset);
        prop_assert_eq!(guest_tsc(host, ratio, offset), wrap(&sum));
    }

    /// For any value of the guest's counter and of the destination's counter, the guest's counter continues at its
    /// value.
    #[test]
    fn a_move_is_continuous(
        wanted in any::<u64>(), host in any::<u64>(), multiplier in any_length(), later in any_length(),
    ) {
        let ratio = Ratio { multiplier, frac_bits: 48 };
        let offset = offset_for(wanted, host, ratio);
        let scaled = |tsc: &BigUint| BigInt::from((tsc * big(multiplier)) >> 48);
        let exact = BigInt::from(wanted) - scaled(&big(host));
        prop_assert_eq!(offset, wrap(&exact));
        prop_assert_eq!(guest_tsc(host, ratio, offset), wanted);
        // It continues at its rate, as long as the host's counter does not pass 2^64.
        if let Some(then) = host.checked_add(later) {
            let expected = wrap(&(scaled(&big(then)) + &exact));
            prop_assert_eq!(guest_tsc(then, ratio, offset), expected);
        }
    }

    #[test]
    fn the_error_is_that_of_big_integers(
        multiplier in any_length(), host in khz(), nominal in 1u32.., hardware in hardware(),
        seconds in any::<u32>(),
    ) {
        let frac_bits = hardware.map_or(48, Hardware::frac_bits);
        let error = Ratio { multiplier, frac_bits }.error(host, nominal).unwrap();
        let real = BigInt::from(big(multiplier) * big(host));
        let wanted = BigInt::from(big(nominal) << frac_bits);
        for (got, factor) in [
            (error.ppb(), BigInt::from(1_000_000_000u64)),
            (error.ns_after(seconds), BigInt::from(u64::from(seconds) * 1_000_000_000)),
        ] {
            // |got * nominal - exact| is at most half a unit.
            let rest = BigInt::from(got) * &wanted - (&real - &wanted) * factor;
            prop_assert!(rest.magnitude() * 2u32 <= *wanted.magnitude(), "{got}");
        }
    }

    /// The ratio's truncation slows a guest by less than one unit of its last bit, never speeds it up.
    #[test]
    fn a_ratio_is_never_fast(guest in khz(), host in khz(), hardware in hardware()) {
        if let Ok(Rate::Scaled(ratio)) = set_tsc_khz(guest, host, hardware, TOLERANCE_PPM) {
            let error = ratio.error(host, guest).unwrap();
            prop_assert!(error.times(u64::MAX) <= 0);
            let full = big(guest) << ratio.frac_bits;
            let lost = full - big(ratio.multiplier) * big(host);
            prop_assert!(lost < big(host));
        }
    }

    #[test]
    fn times_are_those_of_big_integers(ns in any::<u64>(), khz in khz(), tsc in any::<u64>()) {
        prop_assert_eq!(ticks(ns, khz), low(&(big(ns) * big(khz) / big(1_000_000u32))));
        let left = (big(1u32) << 64) - big(tsc);
        let expected = (khz > 0).then(|| u64::try_from(left / (big(khz) * big(1000u32))).unwrap());
        prop_assert_eq!(wraps_after_s(tsc, khz), expected);
    }

    #[test]
    fn tolerated_is_that_of_big_integers(host in any::<u64>()) {
        let tolerance = low(&(big(host) * big(250u32) / big(1_000_000u32)));
        let expected = (host - tolerance, host.saturating_add(tolerance));
        prop_assert_eq!(tolerated(host), expected);
    }

    #[test]
    fn no_khz_is_invented(hz in any::<u64>()) {
        match khz_of_hz(hz) {
            Some((khz, lost)) => {
                prop_assert!(lost < 1000);
                prop_assert_eq!(u64::from(khz) * 1000 + u64::from(lost), hz);
            }
            None => prop_assert!(hz >= (1u64 << 32) * 1000),
        }
    }
}

#[test]
fn figures_that_were_worked_out_by_hand() {
    // 2.5 GHz on 3 GHz: 5/6 of 2^48 and of 2^32, truncated.
    let rate = |hardware| set_tsc_khz(2_500_000, 3_000_000, Some(hardware), TOLERANCE_PPM);
    let vmx = Ratio { multiplier: 0xd555_5555_5555, frac_bits: 48 };
    let svm = Ratio { multiplier: 0xd555_5555, frac_bits: 32 };
    assert_eq!(rate(Hardware::Vmx), Ok(Rate::Scaled(vmx)));
    assert_eq!(rate(Hardware::Svm), Ok(Rate::Scaled(svm)));
    // 1/3 of the last of 32 bits: 0.33 * 2^-32 / (5/6) = 9.3e-11, which is 8 us a day.
    let error = svm.error(3_000_000, 2_500_000).unwrap();
    assert_eq!(error.times(1_000_000_000_000), -93);
    assert_eq!(error.ns_after(86_400), -8_047);
    assert_eq!(vmx.error(3_000_000, 2_500_000).unwrap().ns_after(86_400), 0);
    // An unscaled guest that assumes 2.5 GHz on 2.500625 GHz is 250 ppm fast: 21.6 s a day.
    assert_eq!(set_tsc_khz(2_500_000, 2_500_625, Some(Hardware::Vmx), 250), Ok(Rate::Host));
    let error = Ratio::ONE.error(2_500_625, 2_500_000).unwrap();
    assert_eq!((error.ppb(), error.ns_after(86_400)), (250_000, 21_600_000_000));
    // KVM's lower bound is rounded down, QEMU's up; so KVM accepts one more.
    assert_eq!(unscaled_khz(2_099_999, 250), (2_099_474, 2_100_523));
    assert_eq!(tolerated(2_099_999), (2_099_475, 2_100_523));
}

#[test]
fn a_blackout_is_seen_or_it_is_not() {
    // Intel at 2 GHz to AMD at 3 GHz, 300 ms of blackout.
    let rate = set_tsc_khz(2_000_000, 3_000_000, Some(Hardware::Svm), TOLERANCE_PPM);
    let Ok(Rate::Scaled(ratio)) = rate else { panic!("{rate:?}") };
    let (last, host) = (u64::MAX - 5, 123_456_789_012);
    let blackout = ticks(300_000_000, 2_000_000);
    assert_eq!(blackout, 600_000_000);
    // As QEMU does it: the counter stops, and the guest is 300 ms late.
    assert_eq!(guest_tsc(host, ratio, offset_for(last, host, ratio)), last);
    // With the blackout added; it passes 2^64 here.
    let on = offset_for(last.wrapping_add(blackout), host, ratio);
    assert_eq!(guest_tsc(host, ratio, on), 599_999_994);
}
