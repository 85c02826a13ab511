//! Masks hardware addresses in a line of a log.
//!
//! The kernel and its drivers write them in pairs between colons, hyphens or blanks (`52:54:00:12:34:56`), in groups of
//! four digits (`0002:c903:00a1:b2c6`), and as one number: in the names that systemd gives to interfaces (`enx525400123456`), in
//! parameters (`BOOTIF=01525400123456`), in identifiers of bridges (`8000.525400123456`).

use super::serials::groups;
use crate::log;
use std::cell::OnceCell;

/// The digits of an address as one number.
const DIGITS: usize = 12;
/// The digits of an address with the type of its interface before it (`BOOTIF=01...`), and of a GUID of a port.
const LONGER: [usize; 2] = [14, 16];
/// The types of interfaces before the `x` and the address in their names (systemd.net-naming-scheme(7)).
const TYPES: [&str; 5] = ["en", "ib", "sl", "wl", "ww"];
/// Names before an address as one number, in small letters. Other words may end in them: `iMACAddress`.
const NAMES: [&str; 14] = [
    "bootif",
    "macaddr",
    "macaddress",
    "mac address",
    "mac addr",
    "mac",
    "bd address",
    "bd_address",
    "bd addr",
    "bd_addr",
    "hwaddr",
    "hw_addr",
    "hardware address",
    "ethaddr",
];
/// Digits in the groups of an address, and what separates them: GUIDs of ports, addresses, identifiers of bridges.
const GROUPS: [(&[usize], &str); 3] =
    [(&[4, 4, 4, 4], ":"), (&[4, 4, 4], ":"), (&[4, DIGITS], ".")];

/// The line with the digits of such addresses replaced by `x`.
pub(super) fn masked(line: &str) -> String {
    let bytes = line.as_bytes();
    let mut out = bytes.to_vec();
    let mut cover = |at: usize, length: usize| {
        for byte in out.iter_mut().skip(at).take(length).filter(|byte| byte.is_ascii_hexdigit()) {
            *byte = b'x';
        }
    };
    // A long line may have thousands of numbers.
    let of_counter = OnceCell::new();
    let of_counter = || *of_counter.get_or_init(|| is_of_counter(line));
    let mut at = 0;
    while at < bytes.len() {
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let length = begins.then(|| pairs(bytes, at).or_else(|| grouped(line, at))).flatten();
        if let Some(length) = length {
            cover(at, length);
        } else if begins && is_number(bytes, at) && !of_counter() {
            cover(at, DIGITS);
        }
        at += length.unwrap_or(1);
    }
    let small = line.to_ascii_lowercase();
    for name in NAMES {
        for (at, _) in small.match_indices(name) {
            let behind = &small[at + name.len()..];
            let value = behind.trim_start_matches([' ', ':', '=', '(', '"', '\'']);
            let value = value.strip_prefix("0x").unwrap_or(value);
            let length = digits(value.as_bytes());
            if value.len() < behind.len() && (length == DIGITS || LONGER.contains(&length)) {
                cover(small.len() - value.len(), length);
            }
        }
    }
    for (at, _) in small.match_indices('x') {
        let named = TYPES.iter().any(|name| small[..at].ends_with(name));
        if named && digits(&small.as_bytes()[at + 1..]) == DIGITS {
            cover(at + 1, DIGITS);
        }
    }
    // Only ASCII bytes were replaced, by ASCII bytes.
    String::from_utf8_lossy(&out).into_owned()
}

/// The number of hexadecimal digits at the beginning, if no other letter follows.
fn digits(bytes: &[u8]) -> usize {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if bytes.get(count).is_some_and(u8::is_ascii_alphanumeric) { 0 } else { count }
}

/// Whether an address as one number begins here, without a name. The end of a version and a number of decimal digits are not
/// addresses.
fn is_number(bytes: &[u8], at: usize) -> bool {
    let separated = at == 0 || b" \t=([:'\",".contains(&bytes[at - 1]);
    let number = bytes.get(at..at + DIGITS).unwrap_or_default();
    separated && digits(&bytes[at..]) == DIGITS && number.iter().any(u8::is_ascii_alphabetic)
}

/// Whether the numbers of a line are those of counters: it is a message about clocks, or a part of one.
fn is_of_counter(line: &str) -> bool {
    let message = log::strip_prefix(line).0;
    line.contains("_now:") || line.contains("_last:") || log::is_clock_message(message)
}

/// The length of an address in groups, if one begins here.
fn grouped(line: &str, at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    // The end of an address of IPv6 is none.
    let inside = line[..at].ends_with(':') && !line[..at].ends_with(": ");
    let found = GROUPS.iter().find_map(|(lengths, by)| groups(rest, lengths, by));
    found.filter(|_| !inside)
}

/// The length of an address in pairs of digits, if one begins here: six or more between colons or hyphens, six between blanks.
/// Some drivers omit the first digit of a pair if it is zero.
fn pairs(bytes: &[u8], at: usize) -> Option<usize> {
    let group = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
    };
    let first = Some(group(at)).filter(|length| (1..=2).contains(length))?;
    let separator = *bytes.get(at + first).filter(|byte| b":- ".contains(byte))?;
    let (mut count, mut whole, mut end) = (1, usize::from(first == 2), at + first);
    while bytes.get(end) == Some(&separator) && (1..=2).contains(&group(end + 1)) {
        whole += usize::from(group(end + 1) == 2);
        count += 1;
        if count > 6 && (whole < count || separator == b' ') {
            return None;
        }
        end += 1 + group(end + 1);
    }
    let has_letter = bytes.get(at..end)?.iter().any(u8::is_ascii_alphabetic);
    let ends = bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    // Bytes of a program's code are also listed between blanks.
    let goes_on = || {
        let before = bytes.get(..at.saturating_sub(1)).unwrap_or_default();
        let word = before.iter().rev().take(3).take_while(|byte| byte.is_ascii_alphanumeric());
        word.clone().count() == 2 && word.clone().all(u8::is_ascii_hexdigit)
    };
    let fits = match separator {
        b' ' => count == 6 && whole == 6 && has_letter && !goes_on(),
        _ if whole == count => count >= 6,
        _ => count == 6 && whole >= 4 && has_letter,
    };
    (fits && ends).then_some(end - at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_spelling_is_masked() {
        for (line, kept) in [
            (
                "eth0: 52:54:00:12:34:56 a0-b1-c2-d3-e4-f5",
                "eth0: xx:xx:xx:xx:xx:xx xx-xx-xx-xx-xx-xx",
            ),
            ("authenticate with 0:1a:2b:3c:4d:67", "authenticate with x:xx:xx:xx:xx:xx"),
            ("eth0 perm 00 1a 2b 3c 4d 68", "eth0 perm xx xx xx xx xx xx"),
            ("r8152 2-1:1.0 enx001a2b3c4d74: renamed", "r8152 2-1:1.0 enxxxxxxxxxxxxx: renamed"),
            ("wlx001122334455: x br-enx001122334456", "wlxxxxxxxxxxxxx: x br-enxxxxxxxxxxxxx"),
            ("ip=enx001a2b3c4da1:dhcp", "ip=enxxxxxxxxxxxxx:dhcp"),
            ("BOOTIF=01001122334455 ro", "BOOTIF=xxxxxxxxxxxxxx ro"),
            ("macaddr=001122334455 ro", "macaddr=xxxxxxxxxxxx ro"),
            ("qeth: MAC address 001122334455", "qeth: MAC address xxxxxxxxxxxx"),
            ("iMACAddress 001122334455", "iMACAddress xxxxxxxxxxxx"),
            ("EFI boot: MAC(001A2B3C4D91,1)", "EFI boot: MAC(xxxxxxxxxxxx,1)"),
            ("hci0: BD Address 904030201000", "hci0: BD Address xxxxxxxxxxxx"),
            ("mlx5_ptp 001a2b3c4d82", "mlx5_ptp xxxxxxxxxxxx"),
            ("phy0: addr 001A2B3C4D9B", "phy0: addr xxxxxxxxxxxx"),
            ("bridge-id 8000.001122334455", "bridge-id xxxx.xxxxxxxxxxxx"),
            ("node_guid 0002:c903:00a1:b2c6 x", "node_guid xxxx:xxxx:xxxx:xxxx x"),
            ("tun: hwaddr 001a:2b3c:4d98", "tun: hwaddr xxxx:xxxx:xxxx"),
        ] {
            assert_eq!(masked(line), kept);
        }
    }

    #[test]
    fn other_numbers_stay() {
        for line in [
            "clocksource: 'tsc' cs_now: 3fc1d8f2a1b0 cs_last: 3fb1d8f2a1b0 mask: ffffffffffffffff",
            "'tsc' cs_now: 3fc1d8f2a1b0",
            "Linux version 6.1.0-abcdef123456 (me@build) #202311201132 SMP",
            "pci 0000:00:1f.2: [8086:2922] type 00 at 12:34:56, 2026-11-30T10:00:00",
            "IPv6: fe80::1:2345:6789:1 1:2:3:4:5:6",
            "segfault at 0x7f12345678ab, Code: 48 8b 05 aa bb cc dd 0f",
            "BOOT_IMAGE=/vmlinuz-6.1.0-abcdef123456 ro",
            "[Sun Nov 30 10 00 00 20 26 11] tsc: Detected 2294.609 MHz processor",
        ] {
            assert_eq!(masked(line), line);
        }
    }

    proptest! {
        #[test]
        fn any_line(line in "[a-f0-9:. -]{0,60}|(mac|enx|BOOTIF=|[0-9a-f]{4}|[: ]){0,9}|\\PC{0,40}") {
            let once = masked(&line);
            prop_assert_eq!(once.len(), line.len());
            prop_assert_eq!(masked(&once), once);
        }
    }
}
