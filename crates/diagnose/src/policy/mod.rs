//! The vendors' rules for a machine's clocksource, by date: the rules as data, and their meaning for one machine.
//!
//! A vendor is one module in `vendors` and one line in [`VENDORS`]. A rule has its machines, the date from
//! which it is known to be stated, and the text that states it, with a short quotation. Only such an entry is a
//! rule: a vendor without a rule for a machine requires nothing of it.

mod answer;
mod judge;
mod vendors;
mod weigh;
pub mod when;

pub use answer::{AskedReport, Conformity, EarlierReport, KernelReport, PolicyAnswer, Stated};
pub use judge::answer;
pub use vendors::VENDORS;

use crate::report::PolicyReport;
use clocksmith_facts::hypervisor::Cloud;
use when::When;

/// A vendor with its rules.
#[derive(Clone, Copy, Debug)]
pub struct Vendor {
    /// The name on the command line and in documents.
    pub id: &'static str,
    /// The vendor's name.
    pub name: &'static str,
    /// The subject of its rules, in a few words.
    pub about: &'static str,
    /// Other words for the vendor, in small letters; also those of its products.
    pub words: &'static [&'static str],
    /// The clouds in which it rents out machines.
    pub clouds: &'static [Cloud],
    /// Its rules for the clocksource. Of the rules for one purpose, the first whose machines match applies.
    pub rules: &'static [Rule],
    /// Kernels that the vendor advises to avoid, because of a fault of the clocksource. All entries apply.
    pub kernels: &'static [Avoided],
    /// The meaning of its rules for the reader.
    pub so_what: &'static str,
    /// Instructions for the reader.
    pub do_what: &'static str,
    /// Related words that `explain` knows.
    pub see_also: &'static [&'static str],
}

/// A rule for the clocksource.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The machines, in words.
    pub machines: &'static str,
    /// The machines.
    pub when: When,
    /// The purpose of the rule, if it is for one program only.
    pub purpose: Option<&'static str>,
    /// The demand of the rule.
    pub ask: Ask,
    /// Kernel parameters that the vendor's image or profile sets with it, in addition to `clocksource=`.
    pub sets: &'static [&'static str],
    /// The day from which on the rule is known to be stated.
    pub since: &'static str,
    /// The day on which another rule replaced it.
    pub until: Option<&'static str>,
    /// The text that states the rule.
    pub source: Cited,
}

/// The demand of a rule.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// One of these clocksources.
    Clocksource {
        /// Each of these conforms.
        preferred: &'static [&'static str],
        /// Each of these is supported, and another one is preferred.
        tolerated: &'static [&'static str],
        /// Processor flags that the rule also requires if the TSC is in use.
        flags: &'static [&'static str],
    },
    /// The text states that the vendor requires nothing of these machines.
    Nothing,
}

impl Ask {
    /// A demand for one of these clocksources, without tolerated ones or flags.
    #[must_use]
    pub const fn only(preferred: &'static [&'static str]) -> Self {
        Self::Clocksource { preferred, tolerated: &[], flags: &[] }
    }

    /// The demand in words: `tsc or kvm-clock; tolerated: hpet`.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Clocksource { preferred, tolerated: [], .. } => preferred.join(" or "),
            Self::Clocksource { preferred, tolerated, .. } => {
                format!("{}; tolerated: {}", preferred.join(" or "), tolerated.join(", "))
            }
            Self::Nothing => "nothing".to_owned(),
        }
    }
}

/// Kernels that a vendor advises to avoid.
#[derive(Clone, Copy, Debug)]
pub struct Avoided {
    /// The machines and the kernels.
    pub when: When,
    /// The kernels, in words.
    pub kernels: &'static str,
    /// The fault of these kernels.
    pub fault: &'static str,
    /// The day from which on the advice is known to be stated.
    pub since: &'static str,
    /// The text that states the advice.
    pub source: Cited,
}

/// A text that states a rule.
#[derive(Clone, Copy, Debug)]
pub struct Cited {
    /// The title or address of the text.
    pub text: &'static str,
    /// The date of the text when it was read.
    pub dated: &'static str,
    /// The text that was read, if it is not the vendor's.
    pub read_in: Option<&'static str>,
    /// A short quotation; empty if the text is data.
    pub words: &'static str,
}

impl Vendor {
    /// Finds a vendor by its id, its name, or a word for it.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.trim().to_lowercase();
        VENDORS.iter().copied().find(|vendor| {
            vendor.id == name
                || vendor.name.to_lowercase() == name
                || vendor.words.contains(&name.as_str())
        })
    }

    /// The vendor that rents out machines in a cloud.
    #[must_use]
    pub(crate) fn of_cloud(cloud: Cloud) -> Option<&'static Self> {
        VENDORS.iter().copied().find(|vendor| vendor.clouds.contains(&cloud))
    }

    /// Its rules for the clocksource as recommendations, oldest first.
    #[must_use]
    pub(crate) fn recommendations(&self) -> Vec<PolicyReport> {
        let mut rules: Vec<&Rule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| rule.since);
        rules.into_iter().map(|rule| rule.recommendation(self.name)).collect()
    }

    /// The date of the vendor's latest text.
    #[must_use]
    pub fn dated(&self) -> &'static str {
        let rules = self.rules.iter().map(|rule| rule.source.dated);
        rules
            .chain(self.kernels.iter().map(|avoided| avoided.source.dated))
            .max()
            .unwrap_or_default()
    }
}

impl Rule {
    /// The rule as a recommendation.
    #[must_use]
    pub(crate) fn recommendation(&self, vendor: &'static str) -> PolicyReport {
        let machines = match self.purpose {
            Some(purpose) => format!("{} that run {purpose}", self.machines).into(),
            None => self.machines.into(),
        };
        let mut says = self.ask.text();
        if !self.sets.is_empty() {
            says.push_str(&format!(", with {}", self.sets.join(" ")));
        }
        let until = self.until.map_or_else(String::new, |until| format!(" to {until}"));
        let source = format!("{}; {}{until}", Stated::of(&self.source).line(), self.since).into();
        PolicyReport { who: vendor.into(), machines, says: says.into(), source }
    }
}

impl PartialEq for Vendor {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Vendor {}

#[cfg(test)]
mod tests;
