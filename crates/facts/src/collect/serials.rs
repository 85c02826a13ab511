//! Masks serial numbers and other identifiers of devices in a line of a log.
//!
//! The kernel prints such identifiers: `usb 1-1: SerialNumber: 4C530001` (`announce_device()`, drivers/usb/core/hub.c),
//! `Serial Number: ...` of SCSI and RAID drivers, `eui.`, `naa.`, `t10.` and `nqn.` names, GUIDs, and addresses in Cisco's
//! notation. Messages about clocks do not contain them.

/// Names before a number, in small letters.
const NAMES: [&str; 6] = ["serialnumber", "serial number", "serial no", "serial", "s/n", "sn"];
/// Prefixes of the names of storage devices.
const PREFIXES: [&str; 5] = ["eui.", "naa.", "t10.", "nqn.", "wwn-"];
/// The numbers of digits in the groups of a GUID.
const GUID: [usize; 5] = [8, 4, 4, 4, 12];
/// The numbers of digits in the groups of an address in Cisco's notation.
const DOTTED: [usize; 3] = [4, 4, 4];

/// The line with the letters and digits of such identifiers replaced by `x`.
pub(super) fn masked(line: &str) -> String {
    let mut out = line.as_bytes().to_vec();
    let small = line.to_ascii_lowercase();
    for name in NAMES {
        for (at, _) in small.match_indices(name) {
            if !begins_word(small.as_bytes(), at) {
                continue;
            }
            let behind = small.get(at + name.len()..).unwrap_or_default();
            let value = behind.trim_start_matches([' ', '.', '#']);
            let Some(value) = value.strip_prefix([':', '=']) else { continue };
            let value = value.trim_start_matches([' ', '"', '\'', '[']);
            cover(&mut out, small.len() - value.len(), value, is_end);
        }
    }
    for prefix in PREFIXES {
        for (at, _) in small.match_indices(prefix) {
            if begins_word(small.as_bytes(), at) {
                let value = small.get(at + prefix.len()..).unwrap_or_default();
                cover(&mut out, small.len() - value.len(), value, is_end);
            }
        }
    }
    for (at, _) in small.char_indices() {
        if !begins_word(small.as_bytes(), at) {
            continue;
        }
        let rest = small.get(at..).unwrap_or_default();
        let length = groups(rest, &GUID, b'-').or_else(|| groups(rest, &DOTTED, b'.'));
        if let Some(value) = length.and_then(|length| rest.get(..length)) {
            cover(&mut out, at, value, |_| false);
        }
    }
    // Only ASCII bytes were replaced, by ASCII bytes.
    String::from_utf8_lossy(&out).into_owned()
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | ']' | ')')
}

fn begins_word(line: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| line.get(before)).is_none_or(|b| !b.is_ascii_alphanumeric())
}

/// Masks the value that begins at `at`, up to its end. A single value of one or two digits is an index
/// (`SerialNumber=3`).
fn cover(out: &mut [u8], at: usize, value: &str, ends: impl Fn(char) -> bool) {
    let value = value.split(ends).next().unwrap_or_default();
    if value.len() <= 2 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    for byte in out.iter_mut().skip(at).take(value.len()) {
        if byte.is_ascii_alphanumeric() {
            *byte = b'x';
        }
    }
}

/// The length of groups of these numbers of hexadecimal digits at the beginning, if they are present.
fn groups(text: &str, lengths: &[usize], separator: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    for (index, length) in lengths.iter().enumerate() {
        if index > 0 {
            (bytes.get(at) == Some(&separator)).then_some(())?;
            at += 1;
        }
        let group = bytes.get(at..at + length)?;
        group.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        at += length;
    }
    let ends = bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != separator);
    ends.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_devices_are_masked() {
        for (line, kept) in [
            ("usb 1-1: SerialNumber: 4C530001130914", "usb 1-1: SerialNumber: xxxxxxxxxxxxxx"),
            ("scsi 0:0: Serial Number: PX-12/A b", "scsi 0:0: Serial Number: xx-xx/x b"),
            ("nvme0: serial=S4EWNX0R12", "nvme0: serial=xxxxxxxxxx"),
            ("S/N: 'AB12', rev 1", "S/N: 'xxxx', rev 1"),
            ("nvme nvme0: eui.0025385b11b0aa01 ok", "nvme nvme0: eui.xxxxxxxxxxxxxxxx ok"),
            ("ns nqn.2014-08.org:uuid:4c4c4544-0042 x", "ns nqn.xxxx-xx.xxx:xxxx:xxxxxxxx-xxxx x"),
            (
                "root=UUID=4c4c4544-0042-3510-8056-b4c04f333232 ro",
                "root=UUID=xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx ro",
            ),
            ("eth0: 5254.0012.3456 up", "eth0: xxxx.xxxx.xxxx up"),
        ] {
            assert_eq!(masked(line), kept);
        }
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in [
            "usb 1-1: New USB device strings: Mfr=1, Product=2, SerialNumber=3",
            "serial8250: ttyS0 at I/O 0x3f8 (irq = 4, base_baud = 115200) is a 16550A",
            "clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns",
            "tsc: Refined TSC clocksource calibration: 2593.906 MHz",
            "pci 0000:00:1f.2: [8086:2922] type 00 class 0x010601",
        ] {
            assert_eq!(masked(line), line);
        }
    }

    proptest! {
        #[test]
        fn any_line(line in "[a-zA-Z0-9:=. \\-#]{0,40}|\\PC{0,60}") {
            let once = masked(&line);
            prop_assert_eq!(once.len(), line.len());
            prop_assert_eq!(masked(&once), once);
        }
    }
}
