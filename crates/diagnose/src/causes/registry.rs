//! What the registry of causes in `mod.rs` makes of its lines: the id of a cause, and its module.
//!
//! Names, the list of all ids, serde's output and the implications of each cause derive from it. A cause
//! without a module does not compile, and a module without a line is dead code.

use super::CauseId;

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal in $module:ident,)*) => {
        /// The id of a cause. Part of the public interface: ids are added, never reused for something else.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum CauseId {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant,)*
        }

        impl CauseId {
            /// Every id, in the order in which they are looked for: of equally severe and certain causes the one that
            /// was found first leads.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The id as text: `tsc-warp`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The definition in the module of the cause.
            pub(crate) fn definition(self) -> &'static definition::Definition {
                match self { $(Self::$variant => &$module::CAUSE,)* }
            }
        }
    };
}

pub(super) use registry;

impl CauseId {
    /// Parses the text of an id.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }
}
