//! The pages of `knowledge/`, as `build.rs` reads them.

use super::entry::Entry;

include!(concat!(env!("OUT_DIR"), "/knowledge.rs"));
