//! From hardware and files to QEMU's arguments.

use crate::case::Machine;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The accelerator that runs the guest's instructions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Accel {
    /// Software emulation; works everywhere.
    #[default]
    Tcg,
    /// The host's virtualization; x86 guests on x86 hosts and so on.
    Kvm,
}

impl std::str::FromStr for Accel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tcg" => Ok(Accel::Tcg),
            "kvm" => Ok(Accel::Kvm),
            other => Err(format!("`{other}` is neither tcg nor kvm")),
        }
    }
}

/// How the guest's serial line is connected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Console {
    /// To the emulator's standard output, for the testbed to read.
    Piped,
    /// To the terminal, both ways; Ctrl-A X ends the emulator.
    Terminal,
}

/// One guest, ready to be started.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The hardware.
    pub machine: &'a Machine,
    /// Emulation or virtualization.
    pub accel: Accel,
    /// The kernel image.
    pub kernel: &'a Path,
    /// The root file system's archive.
    pub initramfs: &'a Path,
    /// Kernel parameters of the case.
    pub cmdline: &'a str,
    /// The serial line.
    pub console: Console,
    /// A socket for the control protocol.
    pub qmp: Option<PathBuf>,
    /// Wait for a migration from this address instead of booting.
    pub incoming: Option<String>,
}

impl Plan<'_> {
    /// Returns the kernel's whole command line: the parameters that the testbed needs, then those of the case.
    pub fn kernel_command_line(&self) -> String {
        // The level keeps the kernel's messages off the serial line, where the frames go; the
        // whole log is read inside the guest. A kernel that panics ends the emulator at once.
        let own = format!("console={} panic=-1 loglevel=3", self.machine.arch.console());
        format!("{own} {}", self.cmdline).trim_end().to_string()
    }

    /// The arguments, without the program's name.
    pub fn arguments(&self) -> Vec<OsString> {
        let machine = self.machine;
        let mut list: Vec<OsString> = Vec::new();
        let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
            list.extend(words.iter().map(|word| word.as_ref().to_os_string()));
        };
        add(&[&"-accel", &accel(self.accel)]);
        if machine.steady && self.accel == Accel::Tcg {
            add(&[&"-icount", &"shift=3,sleep=off"]);
        }
        add(&[&"-M", &machine_argument(machine)]);
        if let Some(cpu) = &machine.cpu {
            add(&[&"-cpu", cpu]);
        }
        add(&[&"-smp", &machine.smp, &"-m", &machine.memory.to_string()]);
        add(&[&"-kernel", &self.kernel, &"-initrd", &self.initramfs]);
        add(&[&"-append", &self.kernel_command_line()]);
        add(&[&"-display", &"none", &"-nic", &"none", &"-no-reboot"]);
        match self.console {
            Console::Piped => add(&[&"-monitor", &"none", &"-serial", &"stdio"]),
            Console::Terminal => add(&[&"-serial", &"mon:stdio"]),
        }
        if let Some(socket) = &self.qmp {
            add(&[&"-qmp", &format!("unix:{},server=on,wait=off", socket.display())]);
        }
        if let Some(address) = &self.incoming {
            add(&[&"-incoming", address]);
        }
        for word in &machine.qemu {
            add(&[word]);
        }
        list
    }
}

fn accel(accel: Accel) -> &'static str {
    match accel {
        Accel::Tcg => "tcg",
        Accel::Kvm => "kvm",
    }
}

fn machine_argument(machine: &Machine) -> String {
    let mut text = machine.machine.clone();
    for (name, value) in [("hpet", machine.hpet), ("acpi", machine.acpi)] {
        if let Some(value) = value {
            text.push_str(&format!(",{name}={}", if value { "on" } else { "off" }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    fn machine() -> Machine {
        Machine {
            arch: Arch::Amd64,
            machine: "pc".into(),
            cpu: Some("max,-tsc".into()),
            smp: "2,sockets=2".into(),
            memory: 512,
            hpet: Some(false),
            acpi: None,
            qemu: vec!["-rtc".into(), "base=utc".into()],
            packed: false,
            steady: false,
        }
    }

    fn plan(machine: &Machine) -> Plan<'_> {
        Plan {
            machine,
            accel: Accel::Tcg,
            kernel: Path::new("/k"),
            initramfs: Path::new("/i"),
            cmdline: "",
            console: Console::Piped,
            qmp: None,
            incoming: None,
        }
    }

    fn text(plan: &Plan) -> String {
        let words: Vec<_> =
            plan.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn hardware_becomes_arguments() {
        let machine = machine();
        assert_eq!(
            text(&plan(&machine)),
            "-accel tcg -M pc,hpet=off -cpu max,-tsc -smp 2,sockets=2 -m 512 -kernel /k -initrd \
             /i -append console=ttyS0 panic=-1 loglevel=3 -display none -nic none -no-reboot \
             -monitor none -serial stdio -rtc base=utc"
        );
    }

    #[test]
    fn the_case_has_the_last_word_on_the_command_line() {
        let machine = Machine { arch: Arch::Arm64, cpu: None, ..machine() };
        let plan = Plan { cmdline: "clocksource=jiffies loglevel=7", ..plan(&machine) };
        assert_eq!(
            plan.kernel_command_line(),
            "console=ttyAMA0 panic=-1 loglevel=3 clocksource=jiffies loglevel=7"
        );
        assert!(!text(&plan).contains("-cpu"));
    }

    #[test]
    fn steady_time_is_for_software_emulation_only() {
        let machine = Machine { steady: true, ..machine() };
        assert!(text(&plan(&machine)).starts_with("-accel tcg -icount shift=3,sleep=off -M"));
        let plan = Plan { accel: Accel::Kvm, ..plan(&machine) };
        assert!(!text(&plan).contains("-icount"));
    }

    #[test]
    fn a_control_socket_and_an_incoming_migration_can_be_had() {
        let machine = machine();
        let plan = Plan {
            qmp: Some("/s".into()),
            incoming: Some("unix:/m".into()),
            accel: Accel::Kvm,
            console: Console::Terminal,
            ..plan(&machine)
        };
        let text = text(&plan);
        assert!(text.contains("-qmp unix:/s,server=on,wait=off -incoming unix:/m"));
        assert!(text.starts_with("-accel kvm") && text.contains("-serial mon:stdio"));
    }
}
