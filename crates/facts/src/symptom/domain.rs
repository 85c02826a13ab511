//! A virtual machine's description, as `virsh dumpxml` prints it. `vm lint` judges its clocks.

use super::Seen;
use crate::paste::{Page, Reader};

pub(super) const READER: Reader =
    Reader { name: "libvirt domain", words: &["<domain type="], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    page.symptom(at, READER.name, Seen::Domain);
    let mut end = at + 1;
    while end < page.len() {
        let line = page.line(end).trim();
        // Each line of it is an element, or blank.
        if !(line.is_empty() || line.starts_with('<')) || line.starts_with("<domain ") {
            break;
        }
        end += 1;
        if line.starts_with("</domain>") {
            break;
        }
    }
    end - at
}
