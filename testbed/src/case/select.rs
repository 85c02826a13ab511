//! Choosing boots: everything, the subset for continuous integration, or by name.

use super::Boot;
use crate::glob;

/// Which boots a run is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Subset {
    /// Every boot of every case file.
    All,
    /// Those marked for continuous integration.
    Ci,
    /// Those whose `case@kernel` matches one of these patterns.
    Named(Vec<String>),
}

impl std::str::FromStr for Subset {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "all" => Subset::All,
            "ci" => Subset::Ci,
            patterns => Subset::Named(patterns.split(',').map(String::from).collect()),
        })
    }
}

impl Subset {
    /// Whether a boot belongs to the subset. A pattern without `@` is about the case alone.
    pub fn contains(&self, boot: &Boot) -> bool {
        match self {
            Subset::All => true,
            Subset::Ci => boot.ci,
            Subset::Named(patterns) => patterns.iter().any(|pattern| {
                let name = if pattern.contains('@') { &boot.id } else { &boot.case };
                glob::matches(pattern, name)
            }),
        }
    }
}
