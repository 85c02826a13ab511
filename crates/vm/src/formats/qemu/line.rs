//! What a command line of QEMU says of the guest's clock.

use super::property::Properties;
use crate::guest::Guest;
use crate::placed::Placed;
use crate::words::listed;

/// The options whose value is the next word, and not an option.
const WITH_VALUE: &str =
    "cpu machine M rtc global accel append kernel name drive hda cdrom blockdev uuid";

/// The options that matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Every `-cpu`; the last one counts.
    pub(crate) cpus: Vec<Properties>,
    /// Every `-machine` and `-M`; they add up.
    pub(crate) machines: Vec<Properties>,
    /// Every `-rtc`.
    pub(crate) rtc: Vec<Properties>,
    /// Every `-global`.
    pub(crate) globals: Vec<Properties>,
    /// Every `-accel`, and `-enable-kvm`.
    pub(crate) accels: Vec<String>,
    /// `-no-hpet`.
    pub(crate) no_hpet: Option<Placed>,
    /// `-no-acpi`.
    pub(crate) no_acpi: bool,
    /// The guest kernel's command line.
    pub(crate) append: Option<Placed>,
    /// `-kernel`.
    pub(crate) kernel: bool,
    /// A word that may hold more options.
    pub(crate) unknown: bool,
    /// A device of the host: the guest stays there.
    pub(crate) hostdev: bool,
    /// Apple's key.
    pub(crate) apple: bool,
    /// The name and the disks: what tells which system it is.
    pub(crate) names: Vec<String>,
}

impl Line {
    /// Reads options.
    pub(crate) fn of_words(words: &[Placed]) -> Self {
        let mut line = Self::default();
        let mut index = 0;
        while let Some(word) = words.get(index) {
            index += 1;
            let text = word.as_str();
            if text.contains("applesmc") || text.contains("osk=") {
                line.apple = true;
            }
            let Some(option) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
                line.unknown |= word.unknown();
                continue;
            };
            let value = words.get(index).filter(|value| !value.as_str().starts_with('-'));
            let list = value.map(Properties::parse);
            match option {
                "cpu" => line.cpus.extend(list),
                "machine" | "M" => line.machines.extend(list),
                "rtc" => line.rtc.extend(list),
                "global" => line.globals.extend(list),
                "accel" => line.accels.extend(value.map(|v| v.as_str().to_owned())),
                "enable-kvm" => line.accels.push("kvm".to_owned()),
                "no-hpet" => line.no_hpet = Some(word.clone()),
                "no-acpi" => line.no_acpi = true,
                "append" => line.append = value.cloned(),
                "kernel" => line.kernel = true,
                "name" | "drive" | "hda" | "cdrom" | "blockdev" | "uuid" => {
                    line.names.extend(value.map(|v| v.as_str().to_owned()));
                }
                "device" | "smbios" | "bios" => {
                    line.hostdev |= value.is_some_and(|v| v.as_str().starts_with("vfio-pci"));
                    line.apple |= value.is_some_and(|v| v.as_str().contains("applesmc"));
                }
                _ => line.unknown |= word.unknown(),
            }
            let takes = listed(WITH_VALUE, option);
            if takes && value.is_some() {
                index += 1;
            }
        }
        line
    }

    /// The `-cpu` that counts.
    pub(crate) fn cpu(&self) -> Option<&Properties> {
        self.cpus.last()
    }

    /// Whether the machine has an HPET; `None` where the machine has none at all, or it cannot be said.
    pub(crate) fn hpet(&self) -> Option<bool> {
        if self.no_hpet.is_some() {
            return Some(false);
        }
        self.machines.iter().rev().find_map(|machine| machine.flag("hpet"))
    }

    /// The machine type, in lower case; empty where it is the default.
    pub(crate) fn machine(&self) -> String {
        let of = |machine: &Properties| {
            let named = machine.value("type").map(str::to_ascii_lowercase);
            named.or_else(|| Some(machine.head_name()).filter(|head| !head.is_empty()))
        };
        self.machines.iter().rev().find_map(of).unwrap_or_default()
    }

    /// Whether KVM runs it: `Some(false)` where something else is chosen, `None` where nothing is said.
    pub(crate) fn kvm(&self) -> Option<bool> {
        let of_machine = |machine: &Properties| machine.value("accel").map(str::to_owned);
        let said: Vec<String> = self
            .accels
            .iter()
            .cloned()
            .chain(self.machines.iter().filter_map(of_machine))
            .collect();
        if said.is_empty() {
            return None;
        }
        Some(
            said.iter()
                .any(|accel| accel.contains("kvm") || accel.contains(crate::placed::UNKNOWN)),
        )
    }

    /// The guest's system, as far as the options declare it.
    pub(crate) fn guest(&self) -> Option<Guest> {
        if self.apple {
            return Some(Guest::Macos);
        }
        let hyperv = |cpu: &Properties| cpu.list.iter().any(|p| p.name.starts_with("hv-"));
        if self.cpu().is_some_and(hyperv) {
            return Some(Guest::Windows);
        }
        self.append.is_some().then_some(Guest::Linux)
    }

    /// Names that may tell it: of the machine, and of its disks.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| crate::guest::base(name))
    }
}
