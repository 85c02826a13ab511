//! Guests whose memory their host cannot read: TDX, SEV, SEV-ES, SEV-SNP.
//!
//! The view of the host that such a guest has was decided when it was created, and attestation may measure it: nothing
//! of it is changed. The keys that specify it are read by the kinds of files, not here.

use crate::finding::Finding;
use crate::migrate::guest::Sev;

/// How a guest is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confidential {
    /// Intel TDX. The TDX module fixes the invariant TSC to on, and the guest has no kvm-clock (QEMU
    /// target/i386/kvm/tdx.c, `tdx_cpu_instance_init()` and `TDX_SUPPORTED_KVM_FEATURES`).
    Tdx,
    /// AMD SEV and SEV-ES: `-cpu` determines the TSC.
    Sev,
    /// AMD SEV-SNP, or a kind that the file does not show: the guest may have Secure TSC.
    Snp,
    /// AMD SEV-SNP with Secure TSC (`secure-tsc=on` of QEMU's sev-snp-guest).
    SecureTsc,
}

/// What is known of the TSC of a guest, for the words of its own kernel's command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The host can change it: Linux trusts it only after its own tests.
    #[default]
    Tested,
    /// It may be one that the host cannot change.
    Open,
    /// The host cannot change it, and Linux marks it as reliable without a parameter (TDX since 6.7: arch/x86/coco/tdx/tdx.c,
    /// tdx_early_init(); Secure TSC since 6.14: arch/x86/mm/mem_encrypt_amd.c, sme_early_init()). kvm-clock would be a clock
    /// that the host writes.
    Given,
}

impl Confidential {
    /// Returns the kind that an object of QEMU, a type of libvirt, or an id names.
    pub(crate) fn of_words(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        if text.contains("tdx") {
            return Some(Self::Tdx);
        }
        if text.contains("snp") {
            return Some(if secure_tsc(&text) { Self::SecureTsc } else { Self::Snp });
        }
        ["sev", "memory-encryption"].iter().any(|word| text.contains(word)).then_some(Self::Sev)
    }

    /// Returns the kind that only an id names: its object, which is not in the file, may be any of AMD.
    pub(crate) fn of_id(id: &str) -> Self {
        match Self::of_words(id) {
            Some(Self::Tdx) => Self::Tdx,
            _ => Self::Snp,
        }
    }

    /// Returns which guest of AMD it is; `None` for one of Intel.
    pub(crate) fn sev(self) -> Option<Sev> {
        match self {
            Self::Tdx => None,
            Self::Sev => Some(Sev::Sev),
            Self::Snp | Self::SecureTsc => Some(Sev::Snp),
        }
    }

    /// Returns what is known of the guest's TSC.
    pub(crate) fn trust(self) -> Trust {
        match self {
            Self::Tdx | Self::SecureTsc => Trust::Given,
            Self::Snp => Trust::Open,
            Self::Sev => Trust::Tested,
        }
    }

    /// Returns whether the guest has an invariant TSC: `None` if neither the kind of guest nor `said` decides it.
    /// `said` is the setting in the rest of the file.
    pub(crate) fn invtsc(self, said: Option<bool>) -> Option<bool> {
        match self {
            Self::Tdx => Some(true),
            // Secure TSC provides one that no -cpu shows.
            Self::Sev | Self::Snp | Self::SecureTsc => said.filter(|on| *on),
        }
    }
}

/// Whether the properties of an object switch Secure TSC on, in either of QEMU's notations.
fn secure_tsc(object: &str) -> bool {
    let Some((_, value)) = object.split_once("secure-tsc") else { return false };
    let value = value.trim_start_matches(['"', '\'', '=', ':', ' ']);
    ["on", "true", "yes"].iter().any(|on| value.starts_with(on))
}

/// The reason why nothing of such a guest is changed.
pub(crate) const WHY: &str = "the guest is a confidential one: what it sees of its host may be \
                              measured, and only its owner should change it";

/// Removes all edits, and adds the reason to their findings.
pub(crate) fn leave(findings: &mut [Finding]) {
    findings.iter_mut().for_each(|finding| finding.leave_edits(WHY));
}
