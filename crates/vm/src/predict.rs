//! What QEMU is told of the guest's clock, in the end.

use crate::document::Document;

/// The clock's part of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Properties of `-cpu`, as `name=value`, without those that say nothing of clocks.
    pub cpu: Vec<String>,
    /// `-machine hpet=`; `None` where nothing is said, which is on for pc and q35.
    pub hpet: Option<bool>,
    /// Whether the machine is a PC: others have no HPET.
    pub pc: bool,
    /// Whether the `-cpu` stands in `<qemu:commandline>` and not in `<cpu>`.
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

/// What libvirt will tell QEMU about the clock of the first domain of a file. `None` for other files:
/// what a command line says, it says itself.
#[must_use]
pub fn predict(document: &Document) -> Option<Prediction> {
    document.kind.format().qemu.as_ref()?.predict?(document)
}
