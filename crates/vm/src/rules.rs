//! Every rule of every kind.

use crate::finding::Rule;
use crate::{
    cloud_hypervisor, firecracker, kubevirt, libvirt, parameters, persist, proxmox, qemu,
    virtualbox, vmware, xen,
};

/// Every rule. An id stands once.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    // One line for each kind that has rules of its own.
    libvirt::rules::RULES
        .iter()
        .chain(&qemu::rules::RULES)
        .chain(&proxmox::rules::RULES)
        .chain(&kubevirt::rules::RULES)
        .chain(virtualbox::RULES)
        .chain(vmware::RULES)
        .chain(xen::RULES)
        .chain(firecracker::RULES)
        .chain(cloud_hypervisor::RULES)
        .chain(persist::RULES)
        .chain(parameters::RULES)
        .copied()
}

/// The rule of an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_every_rule_says_why() {
        let mut ids = HashSet::new();
        for rule in rules() {
            assert!(ids.insert(rule.id), "{} twice", rule.id);
            assert!(
                rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            for words in [rule.summary, rule.why, rule.risk, rule.source] {
                assert!(!words.is_empty() && words.trim() == words, "{}", rule.id);
            }
        }
    }
}
