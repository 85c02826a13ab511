//! The system in a virtual machine, as far as its file tells.

use schemars::JsonSchema;
use serde::Serialize;

/// The guest's system. What is right for its clock depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Guest {
    /// Linux.
    Linux,
    /// Windows: its clock is Hyper-V's reference page.
    Windows,
    /// macOS.
    Macos,
    /// A BSD.
    Bsd,
    /// Something that the file names and that is none of these.
    Other,
    /// The file does not say.
    #[default]
    Unknown,
}
