//! A file to look at.

use crate::kind::Kind;
use crate::text::Text;

/// A file: its name (which tells little but its ending), its text, its kind.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name, as given.
    pub name: String,
    /// The text.
    pub text: Text,
    /// What kind of file it is.
    pub kind: Kind,
}
