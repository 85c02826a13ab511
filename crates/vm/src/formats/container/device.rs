//! Whether a service of Compose gives its container /dev/kvm, without which QEMU in it cannot use KVM.

use crate::yaml::Node;

/// Keys by which another file, or a rule for devices, may give it.
const ELSEWHERE: [&str; 3] = ["extends", "device_cgroup_rules", "runtime"];

/// Returns whether the container gets the device; `None` if the service does not show it.
pub(super) fn has_kvm(service: &Node) -> Option<bool> {
    if ELSEWHERE.iter().any(|key| service.entry(key).is_some()) {
        return None;
    }
    if let Some((_, node)) = service.entry("privileged")
        && node.truth()?
    {
        return Some(true);
    }
    let mut open = false;
    for list in ["devices", "volumes"] {
        let Some((_, node)) = service.entry(list) else { continue };
        let Node::List { items } = node else { return None };
        for item in items {
            // A long form of an entry names its source.
            let source = item.at(&["source"]).unwrap_or(item).scalar();
            let (text, _) = source?;
            if list == "devices" && text.starts_with("/dev/kvm") {
                return Some(true);
            }
            // Docker Desktop takes the device as a volume.
            let device = text.starts_with("/dev/kvm") || text.starts_with("/dev:");
            let filled = text.contains('$') || text.contains(super::FILLED);
            open |= list == "devices" && filled || device || text == "/dev";
        }
    }
    (!open).then_some(false)
}
