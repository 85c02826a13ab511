//! A value with its source, or the reason why it is missing.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The place where a fact was read: `dmesg:112`, `cpuid 0x80000007 edx`, `/proc/cmdline`.
///
/// The text is for the reader; it names the place precisely enough to look it up again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(pub String);

impl Source {
    /// A source from any text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// The reason why a fact is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Not read: this kind of evidence cannot contain the fact.
    NotAsked,
    /// This kernel or machine does not have it.
    Absent,
    /// It exists, and this user is not permitted to read it.
    Permission,
    /// It was read and could not be parsed; the text states what was found.
    Unreadable(String),
    /// The kernel ignores it because of a parameter, which is the text.
    NotLookedAt(String),
    /// It does not apply to this architecture or system.
    NotApplicable,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not part of this evidence"),
            Self::Absent => f.write_str("not there"),
            Self::Permission => f.write_str("permission denied"),
            Self::Unreadable(what) => write!(f, "unreadable: {what}"),
            Self::NotLookedAt(parameter) => {
                write!(f, "the kernel ignores it because of a parameter: {parameter}")
            }
            Self::NotApplicable => f.write_str("does not apply here"),
        }
    }
}

/// A missing fact: the reason, the place, and the way to get it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The reason.
    pub why: Why,
    /// The place where it was expected, if any.
    pub at: Option<Source>,
    /// The evidence that would provide it: a command, or a file to add.
    pub how: Option<String>,
}

impl Missing {
    /// A fact that was not read.
    #[must_use]
    pub(crate) fn not_asked() -> Self {
        Self { why: Why::NotAsked, at: None, how: None }
    }

    /// A missing fact, with its reason and the place that was read.
    pub fn new(why: Why, at: impl Into<Source>) -> Self {
        Self { why, at: Some(at.into()), how: None }
    }

    /// The same, with the way to get it.
    #[must_use]
    pub fn how(mut self, how: impl Into<String>) -> Self {
        self.how = Some(how.into());
        self
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A value with its source, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact<T> {
    /// The value, and where it was read.
    Known {
        /// The value.
        value: T,
        /// Where it was read.
        source: Source,
    },
    /// Not known, with the reason.
    Missing(Missing),
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::Missing(Missing::not_asked())
    }
}

impl<T> Fact<T> {
    /// A known value.
    pub fn known(value: T, source: impl Into<Source>) -> Self {
        Self::Known { value, source: source.into() }
    }

    /// The value, if known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// Where the value was read, if known.
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::Known { source, .. } => Some(source),
            Self::Missing(_) => None,
        }
    }

    /// The reason why the value is missing, if it is.
    pub fn reason(&self) -> Option<&Missing> {
        match self {
            Self::Known { .. } => None,
            Self::Missing(missing) => Some(missing),
        }
    }

    /// Whether the value is known.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known { .. })
    }

    /// The same fact about a derived value; the source stays.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Self::Known { value, source } => Fact::Known { value: f(value), source },
            Self::Missing(missing) => Fact::Missing(missing),
        }
    }

    /// A derived value that may be unreadable.
    pub fn try_map<U, E: fmt::Display>(self, f: impl FnOnce(T) -> Result<U, E>) -> Fact<U> {
        match self {
            Self::Known { value, source } => match f(value) {
                Ok(value) => Fact::Known { value, source },
                Err(error) => {
                    Fact::Missing(Missing::new(Why::Unreadable(error.to_string()), source.0))
                }
            },
            Self::Missing(missing) => Fact::Missing(missing),
        }
    }

    /// This fact if known, otherwise the other one; if both are missing, the more specific reason
    /// is kept.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Known { .. } => self,
            Self::Missing(first) => match other() {
                known @ Self::Known { .. } => known,
                Self::Missing(second)
                    if first.at.is_none()
                        || (first.why == Why::NotAsked && second.why != Why::NotAsked) =>
                {
                    Self::Missing(second)
                }
                Self::Missing(_) => Self::Missing(first),
            },
        }
    }

    /// Borrowed view.
    pub fn as_ref(&self) -> Fact<&T> {
        match self {
            Self::Known { value, source } => Fact::Known { value, source: source.clone() },
            Self::Missing(missing) => Fact::Missing(missing.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn or_else_prefers_the_known_one_and_keeps_the_telling_reason() {
        let known = Fact::known(1, "/proc/a");
        let denied: Fact<i32> = Fact::Missing(Missing::new(Why::Permission, "/proc/b"));
        assert_eq!(denied.clone().or_else(|| known.clone()), known);
        assert_eq!(Fact::<i32>::default().or_else(|| denied.clone()), denied);
        assert_eq!(denied.clone().or_else(Fact::default), denied);
        let lacks = |at: &str| Fact::<i32>::Missing(Missing::new(Why::NotAsked, at));
        assert_eq!(lacks("a").or_else(|| lacks("b")), lacks("a"));
        assert_eq!(lacks("a").or_else(|| denied.clone()), denied);
    }
}
