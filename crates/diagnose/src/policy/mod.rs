//! What vendors ask of a machine's clocksource, by date: their rules as data, and what a rule means for one machine.
//!
//! A vendor is one module in `vendors` and one line in [`VENDORS`]. A rule has the machines it is about, the date from
//! which it is known to be stated, and the text that states it, in few of its own words. Nothing else is a
//! rule: a vendor that says nothing of a machine asks nothing of it.

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
    /// As it is written on the command line and in documents.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What its rules are about, in a few words.
    pub about: &'static str,
    /// Other words for it, in small letters; also those of its products.
    pub words: &'static [&'static str],
    /// The clouds that it rents machines in.
    pub clouds: &'static [Cloud],
    /// Its rules for the clocksource. Of those of one purpose, the first whose machines these are applies.
    pub rules: &'static [Rule],
    /// Kernels that it says to avoid, for a fault of the clocksource. All apply.
    pub kernels: &'static [Avoided],
    /// What a reader should know about its rules.
    pub so_what: &'static str,
    /// What to do with them.
    pub do_what: &'static str,
    /// What else to read.
    pub see_also: &'static [&'static str],
}

/// A rule for the clocksource.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The machines, in words.
    pub machines: &'static str,
    /// The machines.
    pub when: When,
    /// What the rule is for, where it is for one program only.
    pub purpose: Option<&'static str>,
    /// What is asked.
    pub ask: Ask,
    /// Kernel parameters that the vendor's own image or profile sets with it, beside `clocksource=`.
    pub sets: &'static [&'static str],
    /// The day from which on it is known to be stated.
    pub since: &'static str,
    /// The day on which another rule took its place.
    pub until: Option<&'static str>,
    /// The text.
    pub source: Cited,
}

/// What a rule asks.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// One of these clocksources.
    Clocksource {
        /// Any of these is right.
        preferred: &'static [&'static str],
        /// Any of these is supported, and another one is preferred.
        tolerated: &'static [&'static str],
        /// Processor flags that are asked for as well where the TSC is in use.
        flags: &'static [&'static str],
    },
    /// The text says that nothing is asked of these machines.
    Nothing,
}

impl Ask {
    /// One of these clocksources, and no more.
    #[must_use]
    pub const fn only(preferred: &'static [&'static str]) -> Self {
        Self::Clocksource { preferred, tolerated: &[], flags: &[] }
    }

    /// In words: `tsc or kvm-clock; tolerated: hpet`.
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

/// Kernels that a vendor says to avoid.
#[derive(Clone, Copy, Debug)]
pub struct Avoided {
    /// The machines and the kernels.
    pub when: When,
    /// The kernels, in words.
    pub kernels: &'static str,
    /// What is wrong with them.
    pub fault: &'static str,
    /// The day from which on it is known to be stated.
    pub since: &'static str,
    /// The text.
    pub source: Cited,
}

/// A text that states a rule.
#[derive(Clone, Copy, Debug)]
pub struct Cited {
    /// Which one.
    pub text: &'static str,
    /// Its date: of the text as it was read.
    pub dated: &'static str,
    /// Where another text was read than the vendor's own: which one.
    pub read_in: Option<&'static str>,
    /// Few of its own words; empty where they are data.
    pub words: &'static str,
}

impl Vendor {
    /// The vendor of a name: its id, its name, or a word for it.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.trim().to_lowercase();
        VENDORS.iter().copied().find(|vendor| {
            vendor.id == name
                || vendor.name.to_lowercase() == name
                || vendor.words.contains(&name.as_str())
        })
    }

    /// The vendor that rents machines in a cloud.
    #[must_use]
    pub fn of_cloud(cloud: Cloud) -> Option<&'static Self> {
        VENDORS.iter().copied().find(|vendor| vendor.clouds.contains(&cloud))
    }

    /// Its rules for the clocksource as recommendations, oldest first.
    #[must_use]
    pub fn recommendations(&self) -> Vec<PolicyReport> {
        let mut rules: Vec<&Rule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| rule.since);
        rules.into_iter().map(|rule| rule.recommendation(self.name)).collect()
    }

    /// The date of its latest text.
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
    /// In the words of a recommendation.
    #[must_use]
    pub fn recommendation(&self, vendor: &'static str) -> PolicyReport {
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
