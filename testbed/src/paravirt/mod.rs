//! Clocks that a hypervisor gives its guests: kvm-clock and Hyper-V's. Software emulation offers none, so these
//! guests run in an emulator of the project's own.
//!
//! - this file: the kinds of such clocks, as arguments of the emulator
//! - [`emulator`]: the emulator, from the cache or built
//! - `steps`: the commands that build it, under one time limit

pub mod emulator;
mod steps;

use std::fmt;
use std::str::FromStr;

/// A clock that the emulator offers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// kvm-clock with the stable bit in its page and in CPUID.
    Kvm,
    /// kvm-clock of a host that does not itself run on its TSC: without the stable bit in the page.
    KvmUnstable,
    /// kvm-clock of a host that does not announce the stable bit in CPUID, so that the guest ignores it.
    KvmUnannounced,
    /// kvm-clock beside an invariant TSC, which the kernel prefers.
    KvmInvtsc,
    /// Hyper-V's reference TSC page.
    Hyperv,
    /// The same page with the sequence 0: every read is one of the hypervisor's MSR.
    HypervPageInvalid,
    /// Hyper-V without that page.
    HypervMsr,
    /// Hyper-V that grants the invariant TSC, which the kernel prefers.
    HypervInvtsc,
}

impl Kind {
    /// All of them.
    pub const ALL: &[Kind] = &[
        Kind::Kvm,
        Kind::KvmUnstable,
        Kind::KvmUnannounced,
        Kind::KvmInvtsc,
        Kind::Hyperv,
        Kind::HypervPageInvalid,
        Kind::HypervMsr,
        Kind::HypervInvtsc,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kvm => "kvm",
            Kind::KvmUnstable => "kvm-unstable",
            Kind::KvmUnannounced => "kvm-unannounced",
            Kind::KvmInvtsc => "kvm-invtsc",
            Kind::Hyperv => "hyperv",
            Kind::HypervPageInvalid => "hyperv-page-invalid",
            Kind::HypervMsr => "hyperv-msr",
            Kind::HypervInvtsc => "hyperv-invtsc",
        }
    }

    /// The clocksource that Linux chooses with two processors.
    pub fn clocksource(self) -> &'static str {
        match self {
            Kind::Kvm | Kind::KvmUnstable | Kind::KvmUnannounced => "kvm-clock",
            Kind::Hyperv | Kind::HypervPageInvalid => "hyperv_clocksource_tsc_page",
            Kind::HypervMsr => "hyperv_clocksource_msr",
            Kind::KvmInvtsc | Kind::HypervInvtsc => "tsc",
        }
    }

    /// Whether the vDSO serves reads of that clocksource here.
    pub fn is_served_in_user_space(self) -> bool {
        matches!(self, Kind::Kvm | Kind::KvmInvtsc | Kind::Hyperv | Kind::HypervInvtsc)
    }

    fn cpu(self) -> &'static str {
        match self {
            Kind::Kvm => "max,x-tcg-kvmclock=on",
            Kind::KvmUnstable => "max,x-tcg-kvmclock=on,x-tcg-kvmclock-stable=off",
            Kind::KvmUnannounced => "max,x-tcg-kvmclock=on,x-tcg-kvmclock-stable-feature=off",
            Kind::KvmInvtsc => "max,x-force-features=on,+invtsc,x-tcg-kvmclock=on",
            Kind::Hyperv => "max,x-tcg-hyperv=on",
            Kind::HypervPageInvalid => "max,x-tcg-hyperv=on,x-tcg-hyperv-page-valid=off",
            Kind::HypervMsr => "max,x-tcg-hyperv=on,x-tcg-hyperv-tsc=off",
            Kind::HypervInvtsc => "max,x-tcg-hyperv=on,x-tcg-hyperv-invtsc=on",
        }
    }
}

/// A guest's paravirtual clock: `KIND`, or `KIND,refresh=MILLISECONDS`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Paravirt {
    /// The clock.
    pub kind: Kind,
    /// Milliseconds after which the hypervisor writes its pages again while the guest runs; 0 is never.
    pub refresh: u32,
}

impl Paravirt {
    /// The processor model.
    pub fn cpu(self) -> String {
        let mut text = self.kind.cpu().to_owned();
        if self.refresh > 0 {
            text.push_str(&format!(",x-tcg-pv-refresh-ms={}", self.refresh));
        }
        text
    }

    /// Returns further options of the emulator. It has few devices, so it cannot give a machine the usual ones, and it
    /// has no firmware; the distribution's emulator has one.
    pub fn qemu(self) -> Vec<String> {
        ["-nodefaults", "-L", "/usr/share/qemu", "-L", "/usr/share/seabios"]
            .map(String::from)
            .to_vec()
    }
}

impl FromStr for Paravirt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) =
            text.split_once(',').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let kind = Kind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            format!("no paravirtual clock is called `{name}`; there are: {}", names.join(", "))
        })?;
        let refresh = match rest {
            None => 0,
            Some(rest) => rest
                .strip_prefix("refresh=")
                .and_then(|number| number.parse().ok())
                .ok_or_else(|| format!("`{rest}` is not refresh=MILLISECONDS"))?,
        };
        Ok(Paravirt { kind, refresh })
    }
}

impl fmt::Display for Paravirt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.name())?;
        if self.refresh > 0 {
            write!(formatter, ",refresh={}", self.refresh)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_back_from_its_name() {
        for kind in Kind::ALL {
            for refresh in [0, 50] {
                let one = Paravirt { kind: *kind, refresh };
                assert_eq!(one.to_string().parse(), Ok(one));
            }
        }
        let wrong = |text: &str| text.parse::<Paravirt>().unwrap_err();
        assert!(wrong("xen").contains("kvm-unstable"));
        assert!(wrong("kvm,refresh=soon").contains("MILLISECONDS"));
        assert!(wrong("kvm,50").contains("MILLISECONDS"));
    }

    #[test]
    fn refresh_becomes_a_property_of_the_processor() {
        let cpu = |text: &str| text.parse::<Paravirt>().unwrap().cpu();
        assert_eq!(cpu("kvm"), "max,x-tcg-kvmclock=on");
        assert_eq!(cpu("hyperv,refresh=20"), "max,x-tcg-hyperv=on,x-tcg-pv-refresh-ms=20");
    }

    #[test]
    fn each_property_of_a_kind_is_one_of_the_patch() {
        for kind in Kind::ALL {
            let words = Paravirt { kind: *kind, refresh: 1 }.cpu();
            for word in words.split(',').filter(|word| word.starts_with("x-tcg-")) {
                let name = word.split('=').next().unwrap();
                assert!(emulator::PATCH.contains(&format!("\"{name}\"")), "{name}");
            }
        }
    }
}
