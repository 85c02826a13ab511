//! The options of a QEMU command line that affect the guest's clock.

use super::confidential::Confidential;
use super::property::{Properties, Property};
use crate::document::Document;
use crate::guest::{Guest, Known, Told, is_disk, linux_kernel, linux_words, several};
use crate::placed::{Placed, UNKNOWN};
use crate::words::listed;

/// Options whose value is the next word, unless that is an option.
const WITH_VALUE: &str =
    "cpu machine M rtc global accel append kernel name drive hda cdrom blockdev uuid loadvm";
/// Options without a value.
const ALONE: &str = "enable-kvm nographic nodefaults no-user-config no-reboot no-shutdown no-hpet no-acpi snapshot \
    daemonize usb S s localtime full-screen only-migratable";

/// Returns whether the next word is certainly the value of an option.
pub(super) fn takes_value(option: &str) -> bool {
    listed(WITH_VALUE, option.trim_start_matches('-'))
}

/// Returns whether a word looks like the value of `-cpu`: a model, and a flag that only `-cpu` has.
fn is_cpu(word: &Placed) -> bool {
    let text = word.as_str();
    let (model, flags) = text.split_once(',').unwrap_or((text, ""));
    let plain =
        !model.is_empty() && model.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let flag = |flag: &str| {
        flag.starts_with(['+', '-'])
            || matches!(flag, "kvm=on" | "kvm=off" | "vmware-cpuid-freq=on" | "vendor=GenuineIntel")
    };
    plain && flags.split(',').any(flag)
}

/// Returns the value of `-cpu` with an unknown part in place of each part that is a placeholder of another language:
/// `#{cpu}`, `%s`, `{}`, `<%= cpu %>`, `@CPU@`, `__CPU__`, `!CPU!`, `$$CPU`. No model or property of QEMU has such letters.
pub(super) fn unfilled(value: &Placed) -> Placed {
    let open = |text: &str| {
        // Names that are shown to the guest may have any letters.
        let name = text.split('=').next().unwrap_or_default().replace('_', "-");
        !listed("model-id hv-vendor-id vendor", &name)
            && (text.contains(['$', '#', '{', '}', '%', '<', '>', '@', '!'])
                || text.starts_with("__"))
    };
    let text = value.as_str();
    if !text.split(',').any(open) {
        return value.clone();
    }
    let mut out = Placed::default();
    for (range, part) in value.split(',') {
        if range.start > 0 {
            out.append(&value.slice(range.start - 1..range.start));
        }
        let text = part.as_str();
        if !open(text) {
            out.append(&part);
            continue;
        }
        // The name of a property is known, if only its value is a placeholder.
        let name = text.find('=').filter(|at| text.get(..*at).is_some_and(|name| !open(name)));
        let known = name.map_or(0, |at| at + 1);
        out.append(&part.slice(0..known));
        out.push(UNKNOWN, part.slice(known..text.len()).span().start);
    }
    out
}

/// The options that affect a clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Every `-cpu`; the last one applies.
    pub(crate) cpus: Vec<Properties>,
    /// The position of each of these options; the text of its value may be in a variable.
    pub(super) cpus_at: Vec<usize>,
    /// Every `-machine` and `-M`; they are merged.
    pub(crate) machines: Vec<Properties>,
    /// Every `-rtc`.
    pub(crate) rtc: Vec<Properties>,
    /// Every `-global`.
    pub(crate) globals: Vec<Properties>,
    /// Every `-accel`, and `-enable-kvm`.
    pub(crate) accels: Vec<String>,
    /// The places of the options that request KVM, and of their values.
    pub(super) kvm_at: Vec<[usize; 2]>,
    /// `-no-hpet`.
    pub(crate) no_hpet: Option<Placed>,
    /// `-loadvm`: it starts from a snapshot.
    pub(crate) loadvm: Option<Placed>,
    /// `-no-acpi`.
    pub(crate) no_acpi: Option<Placed>,
    /// A word without an option that looks like the value of `-cpu`.
    pub(crate) stray_cpu: Option<Placed>,
    /// The `-object` that protects the guest's memory from the host.
    object: String,
    /// The guest kernel's command line.
    pub(crate) append: Option<Placed>,
    /// `-kernel`.
    pub(crate) kernel: bool,
    /// `-kernel` with the name of a program that is not Linux.
    own_kernel: bool,
    /// `-kernel` with a name that only Linux has.
    linux_kernel: bool,
    /// A word that may contain more options.
    pub(crate) unknown: bool,
    /// The places of devices of the host, of the option and of its value: with one, the guest cannot migrate.
    pub(crate) hostdevs: Vec<[usize; 2]>,
    /// The key of Apple's SMC.
    pub(crate) apple: bool,
    /// The name and the disks, which indicate the guest's system.
    pub(crate) names: Vec<String>,
}

/// Returns whether a device prevents the guest's migration. QEMU unplugs one that has a partner before a migration
/// (`failover_pair_id`), and accepts one whose driver can migrate (`hw/vfio/migration.c`, vfio_migration_realize()).
fn holds(device: &str) -> bool {
    let migrates = ["enable-migration=on", "enable-migration=true", "enable-migration=yes"];
    device.starts_with("vfio-")
        && !device.contains("failover_pair_id=")
        && !migrates.iter().any(|it| device.contains(it))
}

/// Returns whether the name of a kernel is not one of Linux: systems in development, unikernels.
fn is_own(name: &str) -> bool {
    let name = crate::guest::base(name).to_ascii_lowercase();
    let linux = ["linu", "image", "zimage"].iter().any(|word| name.contains(word));
    !linux && [".elf", ".bin", ".exe", ".efi"].iter().any(|end| name.ends_with(end))
}

impl Line {
    /// Reads options.
    pub(crate) fn of_words(words: &[Placed]) -> Self {
        let mut line = Self::default();
        let mut index = 0;
        // Whether the next word may be a value.
        let mut takes = true;
        while let Some(word) = words.get(index) {
            index += 1;
            let text = word.as_str();
            if text.contains("applesmc") || text.contains("osk=") {
                line.apple = true;
            }
            let Some(option) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
                line.unknown |= word.unknown();
                if !takes && is_cpu(word) {
                    line.stray_cpu = Some(word.clone());
                }
                takes = word.unknown();
                continue;
            };
            let value = words.get(index).filter(|value| !value.as_str().starts_with('-'));
            let list = match option {
                "cpu" => value.map(|value| Properties::parse(&unfilled(value))),
                _ => value.map(Properties::parse),
            };
            let asks = match option {
                "enable-kvm" => Some(word),
                "accel" | "machine" | "M" => value.filter(|it| it.as_str().contains("kvm")),
                _ => None,
            };
            line.kvm_at.extend(asks.map(|value| [word.span().start, value.span().start]));
            match option {
                "cpu" => {
                    line.cpus_at.extend(list.as_ref().map(|_| word.span().start));
                    line.cpus.extend(list);
                }
                "machine" | "M" => line.machines.extend(list),
                "rtc" => line.rtc.extend(list),
                "global" => line.globals.extend(list),
                "accel" => line.accels.extend(value.map(|v| v.as_str().to_owned())),
                "enable-kvm" => line.accels.push("kvm".to_owned()),
                "no-hpet" => line.no_hpet = Some(word.clone()),
                "loadvm" => line.loadvm = value.map(|_| word.clone()),
                "no-acpi" => line.no_acpi = Some(word.clone()),
                "object" => {
                    line.object.push_str(value.map_or("", Placed::as_str));
                    line.object.push(' ');
                }
                "append" => line.append = value.cloned(),
                "kernel" => {
                    line.kernel = true;
                    line.own_kernel = value.is_some_and(|value| is_own(value.as_str()));
                    line.linux_kernel = value.is_some_and(|value| linux_kernel(value.as_str()));
                }
                "name" | "drive" | "hda" | "cdrom" | "blockdev" | "uuid" => {
                    line.names.extend(value.map(|v| v.as_str().to_owned()));
                }
                "device" | "smbios" | "bios" => {
                    let held = value.filter(|value| holds(value.as_str()));
                    let place = |value: &Placed| [word.span().start, value.span().start];
                    line.hostdevs.extend(held.map(place));
                    line.apple |= value.is_some_and(|v| v.as_str().contains("applesmc"));
                }
                _ => line.unknown |= word.unknown(),
            }
            let known = listed(WITH_VALUE, option);
            if known && value.is_some() {
                index += 1;
            }
            takes = !known && !listed(ALONE, option);
        }
        line
    }

    /// Returns the `-cpu` that applies.
    pub(crate) fn cpu(&self) -> Option<&Properties> {
        self.cpus.last()
    }

    /// Returns whether the machine has an HPET; `None` if the machine type has none, or it cannot be determined.
    pub(crate) fn hpet(&self) -> Option<bool> {
        if self.no_hpet.is_some() {
            return Some(false);
        }
        self.machines.iter().rev().find_map(|machine| machine.flag("hpet"))
    }

    /// The machine type, in lower case; empty if it is the default.
    pub(crate) fn machine(&self) -> String {
        let of = |machine: &Properties| {
            let named = machine.value("type").map(str::to_ascii_lowercase);
            named.or_else(|| Some(machine.head_name()).filter(|head| !head.is_empty()))
        };
        self.machines.iter().rev().find_map(of).unwrap_or_default()
    }

    /// Returns whether KVM may run the guest: `Some(false)` if another accelerator is chosen, `None` if none is set. The
    /// emulator always works, so that what follows it in a list is never used.
    pub(crate) fn kvm(&self) -> Option<bool> {
        let said = self.accelerators();
        if said.is_empty() {
            return None;
        }
        let may = |accel: &String| accel.contains("kvm") || accel.contains(crate::placed::UNKNOWN);
        Some(said.iter().any(|accel| may(accel) && !accel.starts_with("tcg")))
    }

    /// Returns whether the emulator is chosen, and not another hypervisor: HVF, WHPX, NVMM, HAXM.
    pub(crate) fn tcg(&self) -> bool {
        let said = self.accelerators();
        !said.is_empty() && said.iter().all(|accel| accel.starts_with("tcg"))
    }

    /// Returns whether KVM runs the guest only where an accelerator of another system, which is first in a list, does not
    /// exist: `hvf:kvm:tcg` (system/vl.c, configure_accelerators()).
    pub(crate) fn kvm_after_another(&self) -> bool {
        let other = |accel: &String| {
            let first = accel.split([':', ',']).next().unwrap_or_default();
            accel.contains("kvm") && listed("hvf whpx nvmm hax xen", first)
        };
        self.accelerators().iter().any(other)
    }

    /// Returns every accelerator that is requested.
    pub(crate) fn accelerators(&self) -> Vec<String> {
        let of_machine = |machine: &Properties| machine.value("accel").map(str::to_owned);
        self.accels.iter().cloned().chain(self.machines.iter().filter_map(of_machine)).collect()
    }

    /// Returns the technology that protects the guest's memory from the host.
    pub(crate) fn confidential(&self) -> Option<Confidential> {
        let id = self.protected()?.value.as_ref().map(Placed::as_str)?;
        Some(Confidential::of_words(&self.object).unwrap_or_else(|| Confidential::of_id(id)))
    }

    /// Returns the technology that the command line's own object names: an id alone may be that of any object.
    pub(crate) fn confidential_object(&self) -> Option<Confidential> {
        self.protected().and_then(|_| Confidential::of_words(&self.object))
    }

    /// Returns the place of the property that requests it.
    pub(crate) fn confidential_at(&self) -> Option<usize> {
        self.protected().map(|property| property.span().start)
    }

    fn protected(&self) -> Option<&Property> {
        const NAMES: [&str; 2] = ["confidential-guest-support", "memory-encryption"];
        let all = self.machines.iter().rev().flat_map(|it| NAMES.iter().map(|name| it.get(name)));
        all.flatten().find(|property| property.value.is_some())
    }

    /// Returns whether the processor indicates macOS, which requires an Intel processor of its time.
    fn looks_like_macos(&self) -> bool {
        self.cpu().is_some_and(|cpu| {
            cpu.flag("vmware-cpuid-freq") == Some(true)
                || (cpu.value("vendor") == Some("GenuineIntel")
                    && matches!(cpu.head_name().as_str(), "penryn" | "core2duo"))
        })
    }

    /// Returns the guest's system. In order of precedence: the caller's choice, the options' declaration, names and the
    /// processor.
    pub(crate) fn system(&self, document: &Document, file: &str) -> Known {
        let file = if several(file) || self.of_host(file) { "" } else { file };
        if let Some(guest) = self.beside_smc().filter(|_| document.guest.is_none()) {
            return Known { guest, guessed: true };
        }
        let (declared, hinted) = match self.guest() {
            // Hyper-V flags are also used for other systems.
            Some(Guest::Windows) => (None, Some(Guest::Windows)),
            declared => (declared, None),
        };
        let known = document.system(declared, hinted, self.names().chain([file]));
        let told = Told::of(self.names().chain([file]));
        if document.guest.is_none() && self.contradicted(file) {
            return match told {
                Told::One(guest) if guest != Guest::Windows => Known { guest, guessed: true },
                _ => Known::default(),
            };
        }
        let open = document.guest.is_none() && (known.guessed || known.guest == Guest::Unknown);
        if !(open && self.looks_like_macos()) {
            return known;
        }
        let disk = |name: &str| is_disk(name) && Guest::of_words(name) == Some(Guest::Windows);
        match told {
            Told::Nothing | Told::One(Guest::Macos) => Known { guest: Guest::Macos, guessed: true },
            // The processor may be left over from a script for macOS.
            Told::One(Guest::Windows) if self.names().any(disk) => known,
            _ => Known::default(),
        }
    }

    /// Returns the system after which all disks are named, if the machine has Apple's SMC and that system is not macOS: the
    /// device may be left over from a script for macOS, as OpenCore may be.
    fn beside_smc(&self) -> Option<Guest> {
        let mut told = None;
        for name in self.names.iter().filter(|_| self.apple) {
            let file = name.split(',').find_map(|part| part.split_once("file=")).map(|(_, it)| it);
            let file = crate::guest::base(file.unwrap_or(name)).to_ascii_lowercase();
            if !is_disk(&file) || file.contains("opencore") || file.contains("virtio") {
                continue;
            }
            let guest = Guest::of_words(&file)?;
            if guest == Guest::Macos || *told.get_or_insert(guest) != guest {
                return None;
            }
        }
        told
    }

    /// Returns whether Hyper-V flags are combined with the name of another system: they are also
    /// used for other systems. Then neither is trusted enough to change a clock.
    pub(crate) fn contradicted(&self, file: &str) -> bool {
        let mut names = self.names().chain([file]);
        !self.apple && self.hyperv() && names.any(crate::guest::of_another_than_windows)
    }

    fn hyperv(&self) -> bool {
        self.cpu().is_some_and(|cpu| cpu.list.iter().any(|p| p.name.starts_with("hv-")))
    }

    /// Returns whether the Linux in a file's name is that of the host, because the machine and its disks are named
    /// after Windows. Any guest may also have a disk with drivers for Windows.
    fn of_host(&self, file: &str) -> bool {
        let words = || file.split(|c: char| !c.is_ascii_alphanumeric());
        let mut own = self.names().filter(|name| !name.contains("virtio")).peekable();
        own.peek().is_some()
            && words().any(|word| word.eq_ignore_ascii_case("linux"))
            && words().filter_map(Guest::of_words).all(|guest| guest == Guest::Linux)
            && Told::of(own) == Told::One(Guest::Windows)
    }

    /// Returns whether a name is of a Windows that is older than Hyper-V's reference TSC page.
    pub(crate) fn old_windows(&self, file: &str) -> bool {
        self.names.iter().map(String::as_str).chain([file]).any(crate::guest::old_windows)
    }

    /// Returns whether a guest of this system and of these names uses no clock of a hypervisor.
    pub(crate) fn unaware(&self, guest: Guest, file: &str) -> bool {
        crate::guest::unaware(guest, self.names.iter().map(String::as_str).chain([file]))
    }

    /// The guest's system, as far as the options declare it.
    pub(crate) fn guest(&self) -> Option<Guest> {
        if self.apple {
            return Some(Guest::Macos);
        }
        if self.hyperv() {
            return Some(Guest::Windows);
        }
        let told = self.append.as_ref().is_some_and(|append| linux_words(append.as_str()));
        (self.linux_kernel || told && !self.own_kernel).then_some(Guest::Linux)
    }

    /// Returns names that may indicate the system: of the machine, and of its disks.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| crate::guest::base(name))
    }
}
