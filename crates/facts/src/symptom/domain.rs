//! A virtual machine's description, as `virsh dumpxml` prints it. What it says of clocks is for `vm lint`.

use super::Seen;
use crate::paste::{Page, Reader};

pub(super) const READER: Reader =
    Reader { name: "libvirt domain", words: &["<domain type="], read };

/// Lines of one description.
const LONGEST: usize = 2_000;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    page.symptom(at, READER.name, Seen::Domain);
    let end =
        (at..page.len().min(at + LONGEST)).find(|number| page.line(*number).contains("</domain>"));
    end.map_or(1, |end| end + 1 - at)
}
