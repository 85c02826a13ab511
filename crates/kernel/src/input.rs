//! An input of the model: a value and its basis.

use clocksmith_facts::{Fact, Source};
use serde::Serialize;

/// The basis of an input value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Read from this source.
    Fact(Source),
    /// Unknown, and assumed for this reason.
    Assumed(String),
    /// Stated in a what-if question.
    WhatIf,
}

/// A value and its basis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input<T> {
    /// The value.
    pub value: T,
    /// The basis of the value.
    pub basis: Basis,
}

impl<T> Input<T> {
    /// The value of a fact, or the assumed value if the fact is unknown.
    pub fn of<U>(fact: &Fact<U>, take: impl FnOnce(&U) -> T, or: T, why: &str) -> Self {
        match fact {
            Fact::Known { value, source } => {
                Self { value: take(value), basis: Basis::Fact(source.clone()) }
            }
            Fact::Missing(_) => Self::assumed(or, why),
        }
    }

    /// An assumed value.
    pub fn assumed(value: T, why: impl Into<String>) -> Self {
        Self { value, basis: Basis::Assumed(why.into()) }
    }

    /// A value read from a place.
    pub fn read(value: T, source: impl Into<Source>) -> Self {
        Self { value, basis: Basis::Fact(source.into()) }
    }

    /// A what-if value.
    pub fn what_if(value: T) -> Self {
        Self { value, basis: Basis::WhatIf }
    }

    /// The source of the value in brackets, for a sentence; empty if the value was not read.
    #[must_use]
    pub fn cite(&self) -> String {
        match &self.basis {
            Basis::Fact(source) => format!(" [{source}]"),
            Basis::Assumed(_) => " [assumed]".to_owned(),
            Basis::WhatIf => " [what if]".to_owned(),
        }
    }

    /// Whether the value was assumed.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        matches!(self.basis, Basis::Assumed(_))
    }
}
