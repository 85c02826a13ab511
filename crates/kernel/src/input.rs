//! A model input: a value, and what it rests on.

use clocksmith_facts::{Fact, Source};
use serde::Serialize;

/// What an input value rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Read from this place.
    Fact(Source),
    /// Not known; assumed, for this reason.
    Assumed(String),
    /// Stated in a what-if question.
    WhatIf,
}

/// A value, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input<T> {
    /// The value.
    pub value: T,
    /// What it rests on.
    pub basis: Basis,
}

impl<T> Input<T> {
    /// From a fact, else assumed.
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

    /// Where it was read, in brackets, for a sentence; empty when it was not read.
    #[must_use]
    pub fn cite(&self) -> String {
        match &self.basis {
            Basis::Fact(source) => format!(" [{source}]"),
            Basis::Assumed(_) => " [assumed]".to_owned(),
            Basis::WhatIf => " [what if]".to_owned(),
        }
    }

    /// Whether it was assumed.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        matches!(self.basis, Basis::Assumed(_))
    }
}
