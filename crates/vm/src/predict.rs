//! The options about the guest's clock that QEMU gets in the end.

use crate::document::Document;

/// The clock's part of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Properties of `-cpu`, as `name=value`, without those that do not affect clocks.
    pub cpu: Vec<String>,
    /// `-machine hpet=`; `None` if it is not set, which is on for pc and q35.
    pub hpet: Option<bool>,
    /// Whether the machine is a PC: others have no HPET.
    pub pc: bool,
    /// Whether the `-cpu` is in `<qemu:commandline>` and not in `<cpu>`.
    pub overridden: bool,
}

impl Prediction {
    /// As options.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.cpu.is_empty() {
            out.push(format!("-cpu ...,{}", self.cpu.join(",")));
        }
        if let Some(hpet) = self.hpet {
            out.push(format!("-machine ...,hpet={}", if hpet { "on" } else { "off" }));
        }
        out
    }
}

/// Returns the options about the clock that libvirt will pass to QEMU for the first domain of a file. `None` for other
/// files: a command line has its options itself.
#[must_use]
pub fn predict(document: &Document) -> Option<Prediction> {
    document.kind.format().qemu.as_ref()?.predict?(document)
}
