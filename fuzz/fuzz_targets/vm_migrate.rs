//! Hosts and guests of a migration: any text becomes hosts or an error, a guest or an error; every
//! result is decided, and the arithmetic is correct with any figures.

#![no_main]

use clocksmith_vm::migrate::decide::{Verdict, decide};
use clocksmith_vm::migrate::fleet::fleet;
use clocksmith_vm::migrate::scale::{self, Hardware, Rate, Ratio};
use clocksmith_vm::migrate::{guest, host};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    figures(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A guest, a NUL, hosts; each also alone.
    let (first, second) = text.split_once('\0').unwrap_or((text, text));
    let guest = guest::parse(first);
    let Ok(hosts) = host::parse("fuzz", second) else { return };
    assert!(!hosts.is_empty());
    if let Some(best) = fleet(&hosts).best {
        assert!(best.serves >= 1 && best.unscaled >= 1 && best.serves <= hosts.len());
    }
    if let Ok(guest) = guest {
        for host in &hosts {
            let answer = decide(&guest, host);
            assert_eq!(
                answer.clock.is_some(),
                matches!(answer.verdict, Verdict::Exact | Verdict::Scaled | Verdict::HostRate)
            );
        }
    }
});

fn figures(data: &[u8]) {
    let Some(figures) = data.first_chunk::<33>() else { return };
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&figures[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let (guest_khz, host_khz) = (word(0) as u32, (word(0) >> 32) as u32);
    let hardware = [None, Some(Hardware::Vmx), Some(Hardware::Svm)][usize::from(figures[32] % 3)];
    let rate = scale::set_tsc_khz(guest_khz, host_khz, hardware, word(24) as u32);
    let ratio = match rate {
        Ok(Rate::Scaled(ratio)) => ratio,
        _ => Ratio::ONE,
    };
    if let Some(error) = ratio.error(host_khz, guest_khz) {
        let _ = (error.ppb(), error.ns_after(u32::MAX));
        if ratio != Ratio::ONE {
            assert!(error.times(u64::MAX) <= 0);
        }
    }
    let (wanted, tsc) = (word(8), word(16));
    assert_eq!(scale::guest_tsc(tsc, ratio, scale::offset_for(wanted, tsc, ratio)), wanted);
    let _ = (scale::ticks(wanted, guest_khz), scale::wraps_after_s(tsc, guest_khz));
}
