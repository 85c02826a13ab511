//! Kernel configuration.

use serde::Serialize;
use std::collections::BTreeMap;

/// The options of a kernel configuration that concern clocks (`CONFIG_HPET_TIMER=y`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelConfig {
    options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Parses the text of a `.config`; only options that concern clocks, timers, hypervisors and
    /// idle are kept.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        const KEPT: [&str; 14] = [
            "HPET",
            "PM_TIMER",
            "TSC",
            "KVM_GUEST",
            "PARAVIRT",
            "XEN",
            "HYPERV",
            "HIGH_RES",
            "NO_HZ",
            "CLOCKSOURCE",
            "VDSO",
            "TIME_VSYSCALL",
            "HYPERVISOR",
            "_IDLE",
        ];
        let options = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("CONFIG_")?.split_once('='))
            .filter(|(name, _)| KEPT.iter().any(|kept| name.contains(kept)) || *name == "HZ")
            .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
            .collect();
        Self { options }
    }

    /// Whether the option is `y` or `m`.
    #[must_use]
    pub fn enabled(&self, name: &str) -> bool {
        matches!(self.options.get(name).map(String::as_str), Some("y" | "m"))
    }

    /// The value of an option.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Whether nothing was recognised in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }
}
