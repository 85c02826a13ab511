//! Messages that distinguish a 32-bit x86 kernel from a 64-bit one.

use super::super::event::Event;
use super::{after, find};
use crate::version::{Kernel, Version};

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "HIGHMEM avail",
    "LOWMEM avail",
    "HighMem ",
    "K highmem",
    "DMA32 ",
    "EIP: ",
    "EIP is at",
    "EAX: ",
    "RIP: 00",
    "x86 segment limits",
    "non-PAE kernel",
    "ainted",
    "Manufacturer: Linux ",
    "Pentium",
    "Genuine Intel",
    "GNU/Linux",
];

/// The width that a message proves.
///
/// Sources: `find_low_pfn_range()` in `arch/x86/mm/init_32.c` (`HIGHMEM`, `LOWMEM`); `x86_report_nx()` in
/// `arch/x86/mm/setup_nx.c`; `show_regs()` in `arch/x86/kernel/process_32.c` and `process_64.c`; `ZONE_DMA32`, which
/// x86 has only with 64 bits; `dump_stack_print_info()` in `lib/dump_stack.c`, which prints the release.
pub(super) fn parse(m: &str, b: &str) -> Option<Event> {
    let bits = match *m.as_bytes().first()? {
        b'0'..=b'9' if memory(m) => 32,
        b'U' if m.starts_with("Using x86 segment limits to approximate NX") => 32,
        _ if high_memory(m) => return Some(Event::HighMemory),
        b'N' if m.starts_with("Notice: NX (Execute Disable) protection") => 32,
        b'E' if registers(m, "EIP: ", ':') || m.starts_with("EIP is at ") => 32,
        b'E' if m.starts_with("EAX: ") && m.contains(" EBX: ") => 32,
        b'R' if registers(m, "RIP: ", ':') => 64,
        b'D' if m.starts_with("DMA32 ") && zone(m) => 64,
        b'u' if m.starts_with("usb usb") => return host_controller(m),
        _ if m.contains("CPU: ") || m.contains("Pid: ") || m.contains("PID: ") => {
            return tainted(m);
        }
        _ => return processor(b),
    };
    Some(Event::X86Bits(bits))
}

/// `885MB LOWMEM available.`
fn memory(m: &str) -> bool {
    let rest = m.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with("MB HIGHMEM available") || rest.starts_with("MB LOWMEM available")
}

/// `Initializing HighMem for node 0 (00037bfe:00102000)` (`arch/x86/mm/highmem_32.c`), `  HighMem  [mem 0x...` and `HighMem
/// zone: 1280 pages` (`mm/page_alloc.c`), `Memory: 3106080K/3177972K available (..., 2264968K highmem)`: CONFIG_HIGHMEM
/// exists only in 32-bit kernels, on every architecture. A kernel with it and without such memory prints `0K highmem`.
fn high_memory(m: &str) -> bool {
    m.starts_with("Initializing HighMem ")
        || m.starts_with("HighMem ")
            && (m.contains("[mem ") || m.contains("zone: ") || m.contains("->"))
        || m.starts_with("Memory: ") && m.contains("K highmem")
}

/// `EIP: 0060:[<c0123456>]`, `EIP: name+0x11/0x30`, `RIP: 0010:name+0x11/0x30`.
fn registers(m: &str, name: &str, sign: char) -> bool {
    m.strip_prefix(name).is_some_and(|rest| {
        let segment = rest.bytes().take_while(u8::is_ascii_hexdigit).count() == 4;
        segment && rest[4..].starts_with(sign) || name.starts_with('E') && rest.contains("+0x")
    })
}

/// `DMA32    [mem 0x...` and `DMA32 zone: 520 pages`; older: `DMA32    0x00001000 -> 0x00100000`.
fn zone(m: &str) -> bool {
    let rest = m[5..].trim_start();
    rest.starts_with("[mem ")
        || rest.starts_with("zone: ")
        || rest.starts_with("0x") && rest.contains("->")
}

/// `CPU: 0 PID: 1 Comm: swapper Not tainted 5.10.0-19-amd64 #1`, `Pid: 1, comm: swapper Tainted: G        W  2.6.32 #1`:
/// the release, even if the line ends after it.
fn tainted(m: &str) -> Option<Event> {
    let rest = after(m, "Not tainted ")
        .or_else(|| after(m, "Not tainted: "))
        .or_else(|| after(after(m, "Tainted: ")?, " "))?;
    rest.split_whitespace().find_map(release)
}

/// `usb usb1: Manufacturer: Linux 5.2.0-rc7 xhci-hcd`: the kernel reports itself as the manufacturer of its root hubs
/// (`register_root_hub()` and `rh_string()` in `drivers/usb/core/hcd.c`).
fn host_controller(m: &str) -> Option<Event> {
    let (word, _) = after(m, ": Manufacturer: Linux ")?.split_once(' ')?;
    release(word)
}

/// A word that is a release of a kernel.
fn release(word: &str) -> Option<Event> {
    let version = Version::parse(word)?;
    let begins = word.starts_with(|c: char| c.is_ascii_digit());
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._-+~".contains(c));
    let known = (2..=20).contains(&version.major) && word.len() < 128;
    (begins && plain && known).then(|| Event::Release(word.to_owned()))
}

/// The width of x86 in a release, if the release contains it.
pub(crate) fn of_release(release: &str) -> Option<u8> {
    if release.contains("x86_64") || release.contains("amd64") {
        return Some(64);
    }
    Kernel::parse(release).filter(Kernel::is_i686).map(|_| 32)
}

/// Processors without 64 bits: `CPU0: Intel(R) Pentium(R) M processor 1.60GHz stepping 08`. The name of a Core Duo
/// contains a number that begins with T2, L2 or U2 after many blanks.
fn processor(b: &str) -> Option<Event> {
    let rest = b.strip_prefix("CPU")?.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = rest.strip_prefix(": ")?;
    let known = ["Pentium(R) M ", "Pentium III", "Pentium(R) III", "Pentium II", "Pentium MMX"];
    let core_duo = name.strip_prefix("Genuine Intel(R) CPU").is_some_and(|rest| {
        let number = rest.trim_start();
        ["T2", "L2", "U2"].iter().any(|head| number.starts_with(head))
    });
    (core_duo || known.iter().any(|known| name.contains(known))).then_some(Event::X86Bits(32))
}

/// The output of `uname -a`: `Linux host 6.1.0-9-686 #1 SMP ... i686 GNU/Linux`.
pub(crate) fn uname(line: &str) -> Option<Event> {
    let rest = line.strip_prefix("Linux ")?;
    let mut words = rest.split_whitespace().skip(1);
    if !words.next()?.starts_with(|c: char| c.is_ascii_digit()) || find(rest, " #").is_none() {
        return None;
    }
    let machine = rest.trim_end().strip_suffix("GNU/Linux")?;
    // The machine; some systems print the processor and the platform after it.
    let bits = machine.split_whitespace().rev().take(3).find_map(|word| match word {
        "x86_64" => Some(64),
        "i386" | "i486" | "i586" | "i686" => Some(32),
        _ => None,
    })?;
    Some(Event::X86Bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(line: &str) -> Option<u8> {
        match parse(line, super::super::body(line)) {
            Some(Event::X86Bits(bits)) => Some(bits),
            Some(Event::Release(release)) => of_release(&release),
            _ => None,
        }
    }

    #[test]
    fn messages_of_one_width_tell_it() {
        for line in [
            "16522MB HIGHMEM available.",
            "885MB LOWMEM available.",
            "Using x86 segment limits to approximate NX protection",
            "Notice: NX (Execute Disable) protection cannot be enabled: non-PAE kernel!",
            "EIP: strcmp+0x11/0x30",
            "EIP: 0060:[<c0123456>] EFLAGS: 00010246 CPU: 0",
            "EAX: c2a8bc64 EBX: 00000000 ECX: 00000000 EDX: 00000000",
            "CPU: 0 PID: 1 Comm: swapper/0 Not tainted 4.9.0-6-686-pae #1 Debian",
            "CPU1: Genuine Intel(R) CPU           T2050  @ 1.60GHz stepping 08",
            "CPU0: Intel(R) Pentium(R) M processor 1.60GHz stepping 08",
        ] {
            assert_eq!(bits(line), Some(32), "{line}");
        }
        for line in [
            "RIP: 0010:strcmp+0x11/0x30",
            "DMA32    [mem 0x0000000001000000-0x00000000ffffffff]",
            "DMA32 zone: 16384 pages used for memmap",
            "CPU: 0 PID: 1 Comm: swapper/0 Tainted: G        W 5.10.0-19-amd64 #1 Debian",
        ] {
            assert_eq!(bits(line), Some(64), "{line}");
        }
        for line in [
            "CPU0: Intel(R) Pentium(R) CPU G4560 @ 3.50GHz (family: 0x6, model: 0x9e)",
            "CPU: 0 PID: 1 Comm: swapper/0 Not tainted 5.15.0 #1",
            "EIP: none",
            "NX (Execute Disable) protection: active",
        ] {
            assert_eq!(bits(line), None, "{line}");
        }
    }

    #[test]
    fn reports_and_root_hubs_name_the_release() {
        for (line, release) in [
            ("CPU: 0 PID: 1 Comm: x Not tainted 6.1.0 #1", "6.1.0"),
            (
                "CPU: 1 UID: 0 PID: 77 Comm: kworker/1:1 Tainted: G        W 6.14.0-rc2+ #5",
                "6.14.0-rc2+",
            ),
            ("Pid: 1, comm: swapper Not tainted 2.6.32-5-amd64 #1 HP", "2.6.32-5-amd64"),
            (
                "usb usb1: Manufacturer: Linux 5.2.0-rc7-next-20190704 vhci_hcd",
                "5.2.0-rc7-next-20190704",
            ),
        ] {
            let found = parse(line, super::super::body(line));
            assert_eq!(found, Some(Event::Release(release.to_owned())), "{line}");
        }
        for line in [
            "CPU: 0 PID: 1 Comm: x Not tainted",
            "CPU: 0 PID: 1 Comm: x Tainted: G W #1",
            "CPU: 0 PID: 1 Comm: x Not tainted 10.0.0.1:22",
            "usb usb1: Manufacturer: Linux Foundation",
            "usb 1-1: Manufacturer: Linux 4.4.0 with dwc2",
            "usb usb1: Manufacturer: Linux 5.2.0",
        ] {
            assert_eq!(parse(line, super::super::body(line)), None, "{line}");
        }
    }

    #[test]
    fn uname_tells_the_width() {
        let of = |line: &str| uname(line);
        let line =
            "Linux box 2.6.28-15-generic #49 SMP Tue Aug 18 18:40:08 UTC 2009 i686 GNU/Linux";
        assert_eq!(of(line), Some(Event::X86Bits(32)));
        let line = "Linux box 6.1.0-9-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.27 x86_64 GNU/Linux";
        assert_eq!(of(line), Some(Event::X86Bits(64)));
        assert_eq!(of("Linux box 6.1.0 #1 SMP aarch64 GNU/Linux"), None);
        assert_eq!(of("Linux is on i686 GNU/Linux"), None);
    }
}
