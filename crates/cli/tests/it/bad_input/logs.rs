//! `--log`: files that are mistaken for a kernel log.

use super::tarball::gzip;
use super::{User, at_most, file, refused, refuses, run, run_as};

/// A message of our own making in the form of a kernel log.
const GOOD: &str = "\
[    0.000000] Linux version 6.1.0-18-example (builder@example) #1 SMP\n\
[    0.000000] tsc: Detected 2400.000 MHz processor\n\
[    0.200000] TSC deadline timer available\n\
[    1.500000] clocksource: Switched to clocksource tsc\n\
[    1.700000] NET: Registered PF_INET6 protocol family\n\
[    1.900000] Freeing unused kernel image (initmem) memory: 2048K\n\
[    2.000000] Run /init as init process\n\
[    4.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n\
[   14.000000] e1000 0000:00:03.0 eth0: NIC Link is Up 1000 Mbps\n";

const FREEBSD: &str = "\
Copyright (c) 1992-2023 The FreeBSD Project.\n\
FreeBSD 13.2-RELEASE releng/13.2 GENERIC amd64\n\
CPU: Example CPU @ 2.40GHz (2400.00-MHz K8-class CPU)\n\
Timecounter \"TSC-low\" frequency 1200000000 Hz quality 1000\n\
Timecounter \"HPET\" frequency 14318180 Hz quality 950\n\
hpet0: <High Precision Event Timer> iomem 0xfed00000-0xfed003ff on acpi0\n";

const MACOS: &str = "\
2026-01-02 10:00:00.000000+0100 localhost kernel[0]: (AppleACPIPlatform) ACPI: sleep states S3 S4\n\
2026-01-02 10:00:00.100000+0100 localhost powerd[71]: Wake reason\n";

const WINDOWS: &str = "\
Level,Date and Time,Source,Event ID,Task Category\r\n\
Information,02.01.2026 10:00:00,Kernel-General,12,(1),The operating system started.\r\n\
Information,02.01.2026 10:00:01,Time-Service,35,None,The time service is synchronizing.\r\n";

/// `printf 'hello\n' | xz`.
const XZ: [u8; 64] = [
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01,
    0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
    0x0a, 0x00, 0x00, 0x00, 0xa5, 0x60, 0x97, 0xf1, 0x94, 0xf6, 0xfd, 0xe0, 0x00, 0x01, 0x1e, 0x06,
    0xc1, 0x2f, 0xa4, 0x1d, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
];

/// `printf 'tsc: hello, hello, hello, hello\n' | zstd -19`.
const ZSTD: [u8; 31] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x95, 0x00, 0x00, 0x60, 0x74, 0x73, 0x63, 0x3a, 0x20, 0x68,
    0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x0a, 0x01, 0x00, 0xa2, 0x8b, 0x17, 0x3e, 0xdf, 0x4d, 0x48,
];

/// The same bytes on every run.
fn junk(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn input_that_is_not_a_kernel_log_is_refused() {
    let not_kernel = "no line that looks like a Linux kernel message";
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", Vec::new(), "it is empty"),
        ("a blank line", b"\n".to_vec(), not_kernel),
        ("junk", junk(5000), "is not text"),
        ("much junk", junk(3 << 20), "is not text"),
        ("zeros", vec![0; 100_000], "is not text"),
        ("FreeBSD", FREEBSD.into(), not_kernel),
        ("Windows", WINDOWS.into(), not_kernel),
        ("prose", b"It was a dark and stormy night.\n".repeat(50), not_kernel),
        ("gzip, cut off", gzip(&junk(3000))[..1500].to_vec(), "cut off or damaged"),
        ("gzip, head only", gzip(GOOD.as_bytes())[..5].to_vec(), "cut off or damaged"),
        ("xz, cut off", XZ[..40].to_vec(), "cut off or damaged"),
        ("zstd, cut off", ZSTD[..20].to_vec(), "cut off or damaged"),
        ("gzip of junk", gzip(&junk(5000)), "is not text"),
        ("gzip of nothing", gzip(b""), "it is empty"),
        ("an ELF file", std::fs::read(env!("CARGO_BIN_EXE_clocksmith")).unwrap(), "is not text"),
    ];
    for (what, content, words) in cases {
        let (_dir, path) = file("some.log", &content);
        let path = path.to_str().unwrap();
        refuses(what, &["--log", path], &[words, path]);
        refuses(what, &["predict", "--log", path], &[words, path]);
        // The same through a pipe; the path is not known then.
        let piped = run_as(User::Me, &["--log", "-"], |out| out.write_all(&content));
        refused(&format!("{what}, piped"), &piped, &[words]);
    }
}

#[test]
fn utf16_is_read_as_any_other_log() {
    let with_mark = [&[0xff, 0xfe][..], &utf16(GOOD, u16::to_le_bytes)].concat();
    let without = [utf16(GOOD, u16::to_le_bytes), utf16(GOOD, u16::to_be_bytes)];
    for content in without.into_iter().chain([with_mark]) {
        let read = run_as(User::Me, &["--log", "-"], |out| out.write_all(&content));
        let plain = run_as(User::Me, &["--log", "-"], |out| out.write_all(GOOD.as_bytes()));
        assert_eq!((read.code, read.stdout), (plain.code, plain.stdout));
    }
}

#[test]
fn path_that_is_not_a_file_is_refused() {
    let (dir, path) = file("log", b"");
    let inside = path.join("x");
    let dir = dir.path().to_str().unwrap();
    refuses("a directory", &["--log", dir], &["is a directory", "--root"]);
    refuses("nothing", &["--log", "/nonexistent/dmesg"], &["cannot open", "/nonexistent/dmesg"]);
    refuses("below a file", &["--log", inside.to_str().unwrap()], &["cannot open"]);
    refuses("a device", &["--log", "/dev/zero"], &["/dev/zero", "a device, not a regular file"]);
    refuses("nothing at all", &["--log", "/dev/null"], &["it is empty"]);
}

#[test]
fn one_endless_line_ends_in_time() {
    let block = [b'x'; 1 << 16];
    let [short, long] = [30, 300].map(|mib| {
        let piped = run_as(User::Me, &["--log", "-", "--json"], |out| {
            (0..mib << 4).try_for_each(|_| out.write_all(&block))
        });
        let what = format!("{mib} MiB without a newline");
        refused(&what, &piped, &["standard input", "no line that looks like"]);
        piped
    });
    at_most(10, "300 MiB, beside 30", &long, &short);
}

#[test]
fn a_compressed_bomb_ends_in_time() {
    // gzip members follow each other: 16 MiB in a hundred kilobytes. All detectors read lines of text.
    for (what, kib, line, words) in [
        (
            "lines",
            256,
            &b"all work and no play makes a dull log, line after line after line ... \n"[..],
            "no line",
        ),
        ("zeros", 16 << 10, &[0; 64], "is not text"),
        ("one line", 16 << 10, &[b'x'; 64], "no line that looks like"),
    ] {
        let half = line.repeat((kib << 9) / line.len());
        let (bomb, plain) = (gzip(&half).repeat(2), half.repeat(2));
        assert!(bomb.len() < plain.len() / 50, "{what}: {} bytes", bomb.len());
        let [bomb, plain] = [("bomb.gz", bomb), ("plain", plain)].map(|(name, bytes)| {
            let (_dir, path) = file(name, &bytes);
            let outcome = run(&["--log", path.to_str().unwrap()]);
            refused(what, &outcome, &[words]);
            outcome
        });
        at_most(4, what, &bomb, &plain);
    }
}

/// Odd, and readable all the same.
#[test]
fn odd_logs_are_read() {
    let zeros = "\0".repeat(5000);
    let cases = [
        ("as it is", GOOD.to_owned()),
        ("CRLF", GOOD.replace('\n', "\r\n")),
        ("zeros in front", format!("{zeros}{GOOD}")),
        ("zeros inside", GOOD.replace("[    1.5", &format!("{zeros}[    1.5"))),
        ("zeros behind", format!("{GOOD}{zeros}")),
        ("without the last newline", GOOD.trim_end().to_owned()),
        ("after an overlong line", format!("{}\n{GOOD}", "x".repeat(3 << 20))),
        ("in colour", GOOD.replace("clocksource:", "\x1b[33mclocksource:\x1b[0m")),
    ];
    for (what, text) in cases {
        let (_dir, path) = file("some.log", text.as_bytes());
        let outcome = run(&["--log", path.to_str().unwrap(), "--json"]);
        assert!(matches!(outcome.code, Some(0 | 1)), "{what}: {}", outcome.stderr);
        let current = "\"current\": \"tsc\"";
        assert!(outcome.stdout.contains(current), "{what}: {}", outcome.stdout);
    }
}

/// A kernel log without lines about clocks is not an error of the input. Nor is a log of macOS: its lines have the form
/// of syslog lines of a Linux kernel.
#[test]
fn what_cannot_be_determined_has_its_own_code() {
    for text in ["[   12.345678] usb 1-1: new USB device number 2\n", MACOS] {
        let (_dir, path) = file("some.log", text.as_bytes());
        let outcome = run(&["--log", path.to_str().unwrap(), "--json"]);
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
        assert!(outcome.stdout.contains("\"verdict\": \"unknown\""), "{}", outcome.stdout);
    }
}
