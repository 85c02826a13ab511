//! Tests against the real libvirt: fixed domains are valid, and QEMU gets the predicted options. No guest is started.
//! virsh runs the many command lines with the built-in driver (`qemu:///embed`); some domains are also defined in a
//! separate daemon.
//!
//! `cargo test -p clocksmith-vm --test libvirt -- --ignored`; needs virsh, virt-xml-validate, libvirt's QEMU driver and
//! qemu-system-x86_64 (`./test.sh vm`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clocksmith_vm::{Choices, Document, Kind, Prediction, fix, predict};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A user without privileges, since libvirt as root requires a dedicated user.
const NOBODY: u32 = 65_534;

/// A separate directory for libvirt.
struct Libvirt {
    directory: tempfile::TempDir,
}

impl Libvirt {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs commands in one session, without a daemon.
    fn virsh(&self, commands: &str) -> String {
        let embedded = format!("qemu:///embed?root={}", self.directory.path().display());
        self.virsh_at(&embedded, commands)
    }

    fn virsh_at(&self, uri: &str, commands: &str) -> String {
        let mut command = self.command("virsh");
        command.arg("-c").arg(uri).arg(commands);
        let out = command.output().expect("virsh: apt-get install libvirt-clients");
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
    }

    /// Returns a libvirt program, with all its files in our directory.
    fn command(&self, program: &str) -> Command {
        let home = self.directory.path();
        let mut command = Command::new(program);
        command
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("LC_ALL", "C");
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            // The group may use KVM, if there is one.
            let group = fs::metadata("/dev/kvm").map_or(NOBODY, |kvm| kvm.gid());
            command.uid(NOBODY).gid(if group == 0 { NOBODY } else { group });
        }
        command
    }

    /// Starts a daemon for this directory.
    fn daemon(&self) -> Daemon {
        let mut command = self.command("libvirtd");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        let child = command.env("PATH", path).spawn();
        let daemon = Daemon(child.expect("libvirtd: apt-get install libvirt-daemon"));
        let socket = self.path("libvirt/libvirt-sock");
        for _ in 0..600 {
            if socket.exists() {
                return daemon;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("libvirtd does not listen at {}", socket.display());
    }

    /// The command line of each file, or the error.
    fn native(&self, files: &[PathBuf]) -> Vec<String> {
        let mut out = Vec::new();
        // An argument has a limit of 128 KiB.
        for (n, chunk) in files.chunks(200).enumerate() {
            let mut commands = String::new();
            for (m, file) in chunk.iter().enumerate() {
                commands.push_str(&format!("echo =={};", n * 200 + m));
                commands.push_str(&format!("domxml-to-native qemu-argv {};", file.display()));
            }
            let text = self.virsh(&commands);
            let parts: Vec<&str> = text.split("==").skip(1).collect();
            assert_eq!(parts.len(), chunk.len(), "{text:.2000}");
            out.extend(parts.into_iter().map(str::to_owned));
        }
        out
    }
}

/// A daemon that ends with its test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns one machine for each combination of the file's settings of the clock.
fn matrix(hertz: &str, passthrough: bool) -> Vec<String> {
    let custom = "<cpu mode='custom' match='exact'><model fallback='forbid'>Haswell</model>@</cpu>";
    let mut cpus = vec![("qemu", custom)];
    if passthrough {
        cpus.push(("kvm", "<cpu mode='host-passthrough'>@</cpu>"));
        cpus.push(("kvm", "<cpu mode='host-passthrough' migratable='off'>@</cpu>"));
    }
    let mut out = Vec::new();
    for (kind, cpu) in cpus {
        for invtsc in [
            "",
            "<feature policy='require' name='invtsc'/>",
            "<feature policy='disable' name='invtsc'/>",
        ] {
            for frequency in ["", hertz] {
                for n in 0..27 {
                    let timer = |name: &str, at: i32| match n / at % 3 {
                        0 => String::new(),
                        1 => format!("    <timer name='{name}' present='yes'/>\n"),
                        _ => format!("    <timer name='{name}' present='no'/>\n"),
                    };
                    let tsc = if frequency.is_empty() {
                        "    <timer name='tsc' present='yes' mode='native'/>\n".to_owned()
                    } else {
                        format!("    <timer name='tsc' frequency='{frequency}'/>\n")
                    };
                    let hidden = if n % 2 == 0 { "" } else { "<kvm><hidden state='on'/></kvm>" };
                    let timers =
                        timer("hpet", 1) + &timer("kvmclock", 3) + &timer("hypervclock", 9) + &tsc;
                    let name = if n % 2 == 0 { "win10" } else { "debian" };
                    out.push(format!(
                        "<domain type='{kind}'>\n  <name>{name}</name>\n  <memory unit='MiB'>256</memory>\n  <os>\n    \
                         <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  <features>\n    <acpi/>\n    \
                         <hyperv><relaxed state='on'/></hyperv>{hidden}\n  </features>\n  {}\n  <clock \
                         offset='utc'>\n{timers}  </clock>\n</domain>\n",
                        cpu.replace('@', invtsc)
                    ));
                }
            }
        }
    }
    out
}

/// Returns the options of a command line, in the form of a prediction.
fn said(line: &str) -> (BTreeSet<String>, bool) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let behind = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    let cpu = behind("-cpu").unwrap_or_default();
    let clock = |flag: &&str| {
        let name = flag.split('=').next().unwrap_or(flag);
        name.starts_with("hv-")
            || ["invtsc", "kvmclock", "tsc-frequency", "migratable", "kvm", "hypervisor"]
                .contains(&name)
    };
    let flags = cpu.split(',').skip(1).filter(clock).map(str::to_owned).collect();
    let off =
        words.contains(&"-no-hpet") || behind("-machine").is_some_and(|m| m.contains("hpet=off"));
    (flags, !off)
}

fn expected(prediction: &Prediction) -> (BTreeSet<String>, bool) {
    (prediction.cpu.iter().cloned().collect(), prediction.hpet != Some(false))
}

fn document(text: &str) -> Document {
    Document::of_kind("machine.xml", text.as_bytes(), Kind::Libvirt).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

#[test]
#[ignore = "needs libvirt: ./test.sh vm"]
fn qemu_is_told_what_was_predicted() {
    let libvirt = Libvirt::new();
    let capabilities = libvirt.virsh("capabilities");
    let counter = capabilities.split("<counter name='tsc' frequency='").nth(1);
    let hertz = counter.and_then(|rest| rest.split('\'').next()).unwrap_or("2000000000");
    // A frequency must fit the host, and the host's CPU can be passed through only with KVM.
    let machines = matrix(hertz, capabilities.contains("<domain type='kvm'"));
    let (mut files, mut texts) = (Vec::new(), Vec::new());
    for (n, machine) in machines.iter().enumerate() {
        let mended = fix(&document(machine), &Choices::default()).unwrap().document;
        for (name, text) in [("before", machine.as_str()), ("after", mended.text.as_str())] {
            let path = libvirt.path(&format!("{name}-{n}.xml"));
            write(&path, text);
            files.push(path);
            texts.push(text.to_owned());
        }
    }
    let mut compared = 0;
    for (line, text) in libvirt.native(&files).iter().zip(&texts) {
        // The host may lack a requested feature.
        if line.contains("error:") && (line.contains("TSC") || line.contains("CPU")) {
            continue;
        }
        assert!(line.contains("-cpu"), "{line}\n{text}");
        assert_eq!(said(line), expected(&predict(&document(text)).unwrap()), "{text}\n{line}");
        compared += 1;
    }
    println!("{compared} of {} command lines compared, all as predicted", texts.len());
    assert!(compared * 2 >= texts.len(), "only {compared} of {} could be compared", texts.len());
}

#[test]
#[ignore = "needs libvirt: ./test.sh vm"]
fn a_daemon_takes_mended_domains_and_says_the_same() {
    let libvirt = Libvirt::new();
    let _daemon = libvirt.daemon();
    let mut compared = 0;
    for (n, machine) in matrix("2000000000", false).into_iter().step_by(11).enumerate() {
        let name = format!("<name>machine-{n}</name>");
        let machine =
            machine.replace("<name>win10</name>", &name).replace("<name>debian</name>", &name);
        let mended = fix(&document(&machine), &Choices::default()).unwrap().document;
        let path = libvirt.path("machine.xml");
        write(&path, mended.text.as_str());
        let commands = format!(
            "define {}; domxml-to-native qemu-argv --domain machine-{n}; undefine machine-{n}",
            path.display()
        );
        let line = libvirt.virsh_at("qemu:///session", &commands);
        assert!(line.contains("defined from"), "{line}\n{}", mended.text.as_str());
        // The host may lack a requested feature.
        if line.contains("error:") && (line.contains("TSC") || line.contains("CPU")) {
            continue;
        }
        assert_eq!(said(&line), expected(&predict(&mended).unwrap()), "{line}");
        compared += 1;
    }
    println!("{compared} domains defined in libvirtd, all as predicted");
    assert!(compared >= 5, "only {compared} could be compared");
}

#[test]
#[ignore = "needs libvirt: ./test.sh vm"]
fn what_is_mended_is_valid() {
    let libvirt = Libvirt::new();
    let mut machines: Vec<String> = matrix("2000000000", true).into_iter().step_by(13).collect();
    // Without a clock, with an empty one, on one line.
    let plain = "<domain type='kvm'><name>a</name><memory>1</memory><os><type arch='x86_64'>hvm</type></os>\
                 <cpu mode='host-passthrough'/></domain>";
    machines.push(plain.to_owned());
    machines.push(plain.replace("</domain>", "<clock offset='utc'/></domain>"));
    machines.push(plain.replace("><", ">\n<"));
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) };
    for machine in &machines {
        for choices in [Choices::default(), choices] {
            let fixed = fix(&document(machine), &choices).unwrap();
            let path = libvirt.path("machine.xml");
            write(&path, fixed.document.text.as_str());
            let out = Command::new("virt-xml-validate").arg(&path).arg("domain").output();
            let out =
                out.expect("virt-xml-validate: apt-get install libvirt-clients libxml2-utils");
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(out.status.success(), "{said}\n{}", fixed.document.text.as_str());
            if choices.is_empty() {
                continue;
            }
            let text = fixed.document.text.as_str();
            if machine.contains("type='qemu'") {
                // An emulated domain has an emulated TSC, for which libvirt refuses these.
                for word in ["invtsc", "frequency="] {
                    assert_eq!(text.contains(word), machine.contains(word), "{text}");
                }
            } else {
                assert!(
                    text.contains("frequency='2000000000'")
                        && (text.contains("'invtsc'") || text.contains("migratable='off'")),
                    "{text}"
                );
            }
        }
    }
    println!("{} domains mended in two ways, all valid", machines.len());
}
