//! The clocks that a guest certainly has besides an HPET. An HPET is removed only if the guest has a better clock:
//! without one a guest falls back to the ACPI PM timer, each read of which also causes a VM exit.

use super::line::Line;
use crate::guest::Guest;
use crate::placed::{Placed, UNKNOWN};

/// The reason why the HPET of Windows is left.
pub(crate) const TICKS: &str = "without hv-stimer Windows would take its ticks from the RTC, and the guest \
                                would load the host even while it is idle";
/// The reason why the HPET of an emulated guest is left.
const EMULATED: &str = "an emulated guest has no kvm-clock, and its HPET is its best clock";
/// The reason why an HPET is left if KVM is not requested, or not exclusively.
const NO_KVM: &str =
    "the file does not show that KVM runs the guest; in the emulator the HPET is the best clock";
/// The reason why an HPET is left if kvm-clock is disabled.
const ALONE: &str = "the file does not show that the guest has a better clock (kvm-clock, an invariant TSC, or \
                     the page of Hyper-V); without such a clock, the HPET is better than the ACPI PM timer";
/// The reason why the HPET of another system is left.
const OTHER: &str =
    "without an invariant TSC this system has no clock that is better than the HPET";
/// The reason why a requested HPET is left if the guest may be any system.
const ASKED: &str = "the file requests the HPET and does not state which system the guest runs, and not every \
                     system can use kvm-clock; --guest states the system";
/// The reason why an HPET whose properties are set is left.
const CONFIGURED: &str = "-global sets a property of the HPET, so it may be intended";
/// The reason why an HPET is left that the guest's command line selects.
const CHOSEN: &str = "the guest's own command line chooses the HPET";

/// The certain facts about a guest's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    /// KVM runs the guest.
    pub(crate) kvm: bool,
    /// The processor is emulated.
    pub(crate) emulated: bool,
    /// kvm-clock is offered and not hidden.
    pub(crate) kvmclock: bool,
    /// An invariant TSC.
    pub(crate) invtsc: bool,
    /// Hyper-V's reference TSC page.
    pub(crate) page: bool,
    /// The timers of Hyper-V.
    pub(crate) stimer: bool,
    /// The guest's command line selects the HPET.
    pub(crate) chosen: bool,
    /// The processor is x86, as far as it is known.
    pub(crate) x86: bool,
    /// The user specifies the guest's system, or that it is not known.
    pub(crate) said: bool,
    /// Properties of the HPET are set.
    pub(crate) configured: bool,
}

impl Clocks {
    /// Returns the clocks of a command line.
    pub(crate) fn of_line(line: &Line) -> Self {
        let mut clocks = Self {
            kvm: line.certainly_kvm(),
            emulated: line.tcg(),
            // An unknown word may be another -cpu.
            kvmclock: !line.unknown,
            x86: true,
            ..Self::default()
        };
        clocks.configured = line.globals.iter().any(|it| {
            it.list.iter().any(|property| property.name.starts_with("hpet."))
                || it.value("driver") == Some("hpet")
                || it.head_name().starts_with("hpet.")
        });
        clocks.flags(line);
        // A TDX guest has no kvm-clock.
        if line.confidential().is_some_and(|it| it.invtsc(None) == Some(true)) {
            (clocks.kvmclock, clocks.invtsc) = (false, true);
        }
        if let Some(append) = &line.append {
            clocks.told(append);
        }
        clocks
    }

    /// Applies the `-cpu` of a line, if there is one.
    pub(crate) fn flags(&mut self, line: &Line) {
        let Some(cpu) = line.cpu() else { return };
        // An unknown value affects only its own property; an unknown name may be that of any property.
        let known = !cpu.head_name().contains(UNKNOWN)
            && !cpu.list.iter().any(|property| property.name.contains(UNKNOWN));
        let kept = |name: &str| cpu.get(name).is_none_or(|it| it.state() == Some(true));
        let on =
            |name: &str| cpu.flag(name) == Some(true) || cpu.flag("hv-passthrough") == Some(true);
        let seen = known && kept("hypervisor");
        self.kvmclock = seen && kept("kvm") && kept("kvmclock");
        self.invtsc = super::cpu::invtsc(cpu) == Some(true);
        self.page = seen && on("hv-time");
        self.stimer = seen && on("hv-stimer");
    }

    /// Applies the command line of the guest's kernel (Documentation/admin-guide/kernel-parameters.txt).
    pub(crate) fn told(&mut self, append: &Placed) {
        for word in append.words() {
            match word.as_str() {
                "clocksource=hpet" => self.chosen = true,
                "no-kvmclock" | "nopv" => self.kvmclock = false,
                "notsc" | "tsc=unstable" => self.invtsc = false,
                _ => {}
            }
        }
    }

    /// Returns the reason why a requested HPET is left.
    pub(crate) fn keeps(&self, guest: Guest) -> Option<&'static str> {
        if self.configured {
            return Some(CONFIGURED);
        }
        let unknown = guest == Guest::Unknown && !self.said;
        self.lack(guest).or(unknown.then_some(ASKED))
    }

    /// Returns the reason why an HPET is not removed; `None` if the guest certainly has a better clock. Linux rates
    /// kvm-clock 400, or 299 with an invariant TSC, which is rated 300 (arch/x86/kernel/kvmclock.c, `kvmclock_init()`),
    /// and the HPET 250 (arch/x86/kernel/hpet.c, `clocksource_hpet`). FreeBSD prefers the HPET to the ACPI PM timer,
    /// and an invariant TSC to both.
    pub(crate) fn lack(&self, guest: Guest) -> Option<&'static str> {
        if self.chosen {
            return Some(CHOSEN);
        }
        if self.emulated {
            return Some(EMULATED);
        }
        let (has, why) = match guest {
            Guest::Windows if !self.stimer => (false, TICKS),
            Guest::Windows => (self.page, ALONE),
            Guest::Linux | Guest::Unknown => (self.kvmclock || self.invtsc || self.page, ALONE),
            Guest::Bsd | Guest::Macos | Guest::Other => (self.invtsc, OTHER),
        };
        match (has, self.kvm) {
            (true, true) => None,
            (true, false) => Some(NO_KVM),
            (false, _) => Some(why),
        }
    }
}

impl Line {
    /// Returns whether KVM certainly runs the guest: `kvm:tcg` continues without it. The model `host` starts only with
    /// it (target/i386/host-cpu.c; on macOS with HVF).
    fn certainly_kvm(&self) -> bool {
        let said = self.accelerators();
        let kvm = |accel: &String| {
            accel.split(',').next().is_some_and(|it| it == "kvm") && !accel.contains(UNKNOWN)
        };
        let host = self.cpu().is_some_and(|cpu| cpu.head_name() == "host");
        let may = said.is_empty() || said.iter().any(|accel| accel.contains("kvm"));
        let may = may && !self.kvm_after_another();
        (!said.is_empty() && said.iter().all(kvm)) || (host && may)
    }
}
