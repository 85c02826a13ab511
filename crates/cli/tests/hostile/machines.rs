//! Machines as an attacker would write them: recorded ones, with sequences in their files that a terminal, a shell or a
//! parser could act on; and files of virtual machines of the same kind.

use std::fs;
use std::path::{Path, PathBuf};

/// Pseudo-random numbers (SplitMix64): the same machines from the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end.max(1) as u64).unwrap()
    }

    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// The strings that are inserted. `pwned` is a program that leaves a mark, where the checks run a command.
const EVIL: &[&str] = &[
    "\x1b]0;pwn\x07",
    "\x1b[31mRED",
    "\x1b[2J\x1b[H",
    "\x1bc",
    "\x1b[1m",
    "\u{9b}2J",
    "\u{9d}0;pwn\u{9c}",
    "\u{85}",
    "\u{202e}tsc",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{e0041}",
    "\u{2028}",
    "\u{ad}",
    "\u{e000}",
    "\r",
    "\rOK",
    "\x08\x08\x08",
    "\x7f",
    "\x0b",
    "\0",
    "\t",
    "\n",
    "\nclocksource: Switched to clocksource hpet\n",
    "$(pwned)",
    "'$(pwned)'",
    "\"$(pwned)\"",
    "`pwned`",
    "'`pwned`'",
    ";pwned;",
    "';pwned;'",
    "|pwned",
    "&pwned&",
    "$(pwned",
    "'",
    "\"",
    "\\",
    "'\\''",
    "<(pwned)",
    "${x:=$(pwned)}",
    "--help",
    "%s%n",
    "<b>&amp;",
    "{{ pwned }}",
    "*?[",
    "=",
    ",",
    "時計",
    "é\u{301}",
];

/// A text of one to three of the strings.
pub(crate) fn evil(dice: &mut Dice) -> String {
    (0..=dice.below(3)).map(|_| *dice.one(EVIL)).collect()
}

/// Inserts such texts into a text, at `many` places.
fn spoil(text: &str, many: usize, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..many {
        let mut at = dice.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &evil(dice));
    }
    text
}

/// The recorded machines.
fn boots() -> Vec<PathBuf> {
    let boots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/fixtures/boots");
    let mut all: Vec<PathBuf> =
        fs::read_dir(boots).unwrap().map(|boot| boot.unwrap().path().join("root")).collect();
    all.sort();
    all
}

fn copy(from: &Path, to: &Path, gentle: bool, dice: &mut Dice) {
    fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to, gentle, dice);
            continue;
        }
        let text = fs::read_to_string(&from).unwrap();
        let many = if text.len() > 4096 { 12 } else { dice.below(3) };
        let text = if gentle { text } else { spoil(&text, many, dice) };
        fs::write(&to, text).unwrap();
    }
}

/// A machine's mirror.
pub(crate) fn machine(dir: &Path, dice: &mut Dice) {
    let boots = boots();
    // Every second machine keeps its recorded values, so that there is a verdict, and advice with commands.
    let gentle = dice.below(2) == 0;
    copy(dice.one(&boots).as_path(), dir, gentle, dice);
    let put = |path: &str, text: String| {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let grown = |path: &str, text: String| {
        let before = fs::read_to_string(dir.join(path)).unwrap_or_default();
        fs::write(dir.join(path), format!("{}{text}\n", before.trim_end())).unwrap();
    };
    // The places whose words are shown again.
    if gentle {
        for word in ["clocksource=", "tsc=", "notsc ", "clocksource=jiffies,"] {
            if dice.below(2) == 0 {
                // One word, as the kernel splits the command line.
                let evil = evil(dice).replace([' ', '\n', '\t', '\r', '\0'], "");
                grown("proc/cmdline", format!(" {word}{evil}"));
            }
        }
    }
    for word in ["clocksource", "tsc", "hpet", "processor.max_cstate", "root", "quirk"] {
        if dice.below(3) == 0 {
            grown("proc/cmdline", format!(" {word}={}", evil(dice)));
        }
    }
    if dice.below(2) == 0 {
        grown("proc/version", evil(dice));
    }
    let sysfs = "sys/devices/system/clocksource/clocksource0";
    if gentle {
        put(&format!("{sysfs}/current_clocksource"), "hpet\n".to_owned());
        put(&format!("{sysfs}/available_clocksource"), "tsc hpet acpi_pm\n".to_owned());
    } else if dice.below(2) == 0 {
        let named = format!("{}{}", dice.one(&["tsc", "hpet", "kvm-clock", ""]), evil(dice));
        put(&format!("{sysfs}/current_clocksource"), format!("{named}\n"));
        put(&format!("{sysfs}/available_clocksource"), format!("tsc hpet {named}\n"));
    }
    for path in [
        "sys/class/dmi/id/sys_vendor",
        "sys/class/dmi/id/product_name",
        "sys/hypervisor/type",
        "proc/sys/kernel/hostname",
        "sys/devices/system/cpu/cpuidle/current_driver",
        "sys/devices/system/cpu/online",
        "etc/os-release",
        "etc/default/grub",
    ] {
        if dice.below(3) == 0 {
            let begin = dice.one(&[
                "QEMU",
                "Amazon EC2",
                "0-1",
                "GRUB_CMDLINE_LINUX=\"quiet",
                "ID=debian\n",
            ]);
            put(path, format!("{begin}{}\n", evil(dice)));
        }
    }
    for _ in 0..dice.below(6) {
        let (name, other) = (evil(dice), evil(dice));
        let line = match dice.below(6) {
            0 => format!("[    1.000000] clocksource: Switched to clocksource {name}"),
            1 => format!(
                "[    9.000000] clocksource: timekeeping watchdog on CPU0: Marking clocksource '{name}' as unstable because the skew is too large:"
            ),
            2 => format!(
                "[    9.000001] clocksource:                       '{name}' wd_nsec: 512000000 wd_now: {other}"
            ),
            3 => format!("[    2.000000] tsc: Marking TSC unstable due to {name}"),
            4 => format!("[    0.000000] Kernel command line: clocksource={name} {other}"),
            _ => format!("[    0.000000] Linux version {name} ({other})"),
        };
        grown("dmesg", format!("\n{line}"));
    }
}

/// Files of virtual machines: the name, and how it begins.
const FILES: &[(&str, &str)] = &[
    (
        "guest.xml",
        "<domain type='kvm'><name>%</name><os><type arch='x86_64' machine='%'>hvm</type></os><cpu mode='%'><feature policy='require' name='%'/></cpu><clock offset='%'><timer name='%' present='%' frequency='%'/><timer name='hpet' present='yes'/></clock></domain>\n",
    ),
    (
        "start.sh",
        "#!/bin/sh\nqemu-system-x86_64 -name % -cpu host,% -machine q35,% -rtc base=%,driftfix=% -append 'clocksource=% tsc=%' -m 1G -enable-kvm\n",
    ),
    ("100.conf", "ostype: %\nargs: -cpu host,%\ncpu: %\nname: %\ncores: 2\n"),
    (
        "guest.vmx",
        "virtualHW.version = \"%\"\nguestOS = \"%\"\ntools.syncTime = \"%\"\nmonitor_control.% = \"%\"\n",
    ),
    (
        "vm.yaml",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: \"%\"}\nspec:\n  template:\n    spec:\n      domain:\n        clock: {timer: {hpet: {present: \"%\"}, \"%\": {}}}\n        cpu: {model: \"%\"}\n",
    ),
    ("machine.json", "{\"boot-source\": {\"boot_args\": \"clocksource=% tsc=%\"}, \"%\": 1}\n"),
    ("cloud.json", "{\"payload\": {\"cmdline\": \"clocksource=%\"}, \"x\": \"%\"}\n"),
    ("guest.cfg", "name = '%'\nbuilder = 'hvm'\ntsc_mode = '%'\nextra = 'clocksource=%'\n"),
    ("vbox.sh", "VBoxManage modifyvm % --cpus 4 --ostype % --paravirtprovider %\n"),
    (
        "tuned.conf",
        "[main]\nsummary=%\n[bootloader]\ncmdline=clocksource=% tsc=%\n[sysfs]\n/sys/devices/system/clocksource/clocksource0/current_clocksource=%\n",
    ),
    (
        "nodes.json",
        "{\"items\": [{\"metadata\": {\"name\": \"%\", \"labels\": {\"cpu-timer.node.kubevirt.io/tsc-frequency\": \"%\", \"cpu-timer.node.kubevirt.io/tsc-scalable\": \"%\"}}}]}\n",
    ),
    (
        "capabilities.xml",
        "<capabilities><host><uuid>%</uuid><cpu><model>%</model><counter name='tsc' frequency='%' scaling='%'/></cpu></host></capabilities>\n",
    ),
];

/// Writes one of each into a directory; their paths.
pub(crate) fn files(dir: &Path, dice: &mut Dice) -> Vec<PathBuf> {
    fs::create_dir_all(dir).unwrap();
    let mut all = Vec::new();
    for (name, text) in FILES {
        let mut out = String::new();
        for (index, part) in text.split('%').enumerate() {
            if index > 0 {
                let good = *dice.one(&["host", "yes", "2500000000", "tsc", "no", "l26", "utc"]);
                let bad = if dice.below(2) == 0 { evil(dice) } else { String::new() };
                out.push_str(good);
                out.push_str(&if name.ends_with(".json") { escaped(&bad, dice) } else { bad });
            }
            out.push_str(part);
        }
        // Now and then a place where nothing belongs.
        let many = usize::from(dice.below(4) == 0);
        let path = dir.join(name);
        fs::write(&path, spoil(&out, many, dice)).unwrap();
        all.push(path);
    }
    all
}

/// Usually as a part of a JSON string.
fn escaped(text: &str, dice: &mut Dice) -> String {
    if dice.below(8) == 0 {
        return text.to_owned();
    }
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}
