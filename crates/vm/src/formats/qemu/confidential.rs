//! Guests whose memory their host cannot read: TDX, SEV, SEV-ES, SEV-SNP.
//!
//! The view of the host that such a guest has was decided when it was created, and attestation may measure it: nothing
//! of it is changed. The keys that specify it are read by the kinds of files, not here.

use crate::finding::Finding;

/// How a guest is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confidential {
    /// Intel TDX. The TDX module fixes the invariant TSC to on, and the guest has no kvm-clock (QEMU
    /// target/i386/kvm/tdx.c, `tdx_cpu_instance_init()` and `TDX_SUPPORTED_KVM_FEATURES`).
    Tdx,
    /// AMD SEV, SEV-ES, SEV-SNP: `-cpu` determines the TSC, except for Secure TSC.
    Sev,
}

impl Confidential {
    /// Returns the kind that an object of QEMU, a type of libvirt, or an id names.
    pub(crate) fn of_words(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        if text.contains("tdx") {
            return Some(Self::Tdx);
        }
        ["sev", "memory-encryption"].iter().any(|word| text.contains(word)).then_some(Self::Sev)
    }

    /// Returns whether the guest has an invariant TSC: `None` if neither the kind of guest nor `said` decides it.
    /// `said` is the setting in the rest of the file.
    pub(crate) fn invtsc(self, said: Option<bool>) -> Option<bool> {
        match self {
            Self::Tdx => Some(true),
            // Secure TSC provides one that no -cpu shows.
            Self::Sev => said.filter(|on| *on),
        }
    }
}

/// The reason why nothing of such a guest is changed.
pub(crate) const WHY: &str = "the guest is a confidential one: what it sees of its host may be \
                              measured, and only its owner should change it";

/// Removes all edits, and adds the reason to their findings.
pub(crate) fn leave(findings: &mut [Finding]) {
    findings.iter_mut().for_each(|finding| finding.leave_edits(WHY));
}
