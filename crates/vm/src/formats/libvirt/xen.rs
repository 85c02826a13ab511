//! Xen domains in libvirt's format: there, `mode=` of the tsc timer has an effect.

use super::domain::Domain;
use crate::finding::{Finding, Severity};

/// Checks a domain.
pub(super) fn check(domain: &Domain<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    if let Some(timer) = domain.timer("tsc") {
        let span = timer.open.clone();
        match timer.value("mode") {
            Some("native") => {
                if domain.feature("invtsc").is_some_and(|(_, on)| on) {
                    out.push(Finding::new(rule!("xen-invtsc-native-ok"), span));
                } else {
                    let words = "require invtsc in <cpu mode='host-passthrough'>, for a domain that \
                                 never migrates; otherwise omit mode=";
                    out.push(Finding::new(rule!("xen-native-no-invtsc"), span).fix(words));
                }
            }
            Some("emulate") => {
                let words = "omit mode=: Xen then emulates only if it must";
                out.push(Finding::new(rule!("lv-xen-tsc-emulated"), span).fix(words));
            }
            _ => {}
        }
    }
    if let (Some(timer), Some(true)) = (domain.timer("hpet"), domain.present("hpet")) {
        out.push(Finding::new(rule!("lv-hpet-on"), timer.open.clone()).severity(Severity::Info));
    }
    out
}
