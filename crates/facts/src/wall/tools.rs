//! The settings of a hypervisor's tools for periodic synchronisation with the host.

use serde::Serialize;

/// The tools of a hypervisor, and whether they steer the guest's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tools {
    /// `VMware Tools`, `VirtualBox Guest Additions`.
    pub name: &'static str,
    /// Whether they steer it periodically; `false`: they set it only on occasions, such as a resume.
    pub steer: bool,
}

const VMWARE: &str = "VMware Tools";
const VIRTUALBOX: &str = "VirtualBox Guest Additions";

impl Tools {
    /// Parses a line of settings, or a query of them and its answer: `vmware-toolbox-cmd timesync status` and
    /// `Enabled`; `tools.syncTime = "TRUE"` of a .vmx file; `GetHostTimeDisabled` of VirtualBox. Also returns the
    /// number of lines.
    ///
    /// Sources: VMware Tools 12.4.0, Configuring Time Synchronization; VirtualBox manual, Tuning the Guest Additions Time
    /// Synchronization Parameters, Disabling the Guest Additions Time Synchronization.
    #[must_use]
    pub fn of_lines(line: &str, next: &str) -> Option<(Self, usize)> {
        let (vmware, virtualbox) =
            (|steer| Self { name: VMWARE, steer }, |steer| Self { name: VIRTUALBOX, steer });
        if let Some((_, rest)) = line.split_once("vmware-toolbox-cmd timesync ") {
            let rest = rest.trim_start();
            let answer = |text: &str| match text.trim().trim_end_matches('.') {
                "Enabled" => Some(true),
                "Disabled" => Some(false),
                _ => None,
            };
            if let Some(rest) = rest.strip_prefix("status") {
                let inline = rest.trim_start_matches(['`', ':', '=', ' ', '-', '>', '→']);
                return match answer(inline) {
                    Some(steer) => Some((vmware(steer), 1)),
                    None => answer(next).map(|steer| (vmware(steer), 2)),
                };
            }
            return None;
        }
        let (name, value) = line.split_once('=')?;
        if name.trim().eq_ignore_ascii_case("tools.syncTime") {
            return match value.trim().trim_matches('"').to_ascii_uppercase().as_str() {
                "TRUE" | "1" => Some((vmware(true), 1)),
                "FALSE" | "0" => Some((vmware(false), 1)),
                _ => None,
            };
        }
        if line.contains("VMMDev/0/Config/GetHostTimeDisabled") {
            return value.contains("\"1\"").then(|| (virtualbox(false), 1));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_lines_the_answer_follows_or_is_below() {
        let steer =
            |line: &str, next: &str| Tools::of_lines(line, next).map(|(tools, _)| tools.steer);
        assert_eq!(steer("$ vmware-toolbox-cmd timesync status", "Enabled"), Some(true));
        assert_eq!(steer("# vmware-toolbox-cmd timesync status", "Disabled"), Some(false));
        assert_eq!(steer("vmware-toolbox-cmd timesync status: Enabled", ""), Some(true));
        assert_eq!(steer("$ vmware-toolbox-cmd timesync enable", "Enabled"), None);
        assert_eq!(steer("$ vmware-toolbox-cmd timesync status", "Time sync is odd"), None);
        assert_eq!(steer("tools.syncTime = \"TRUE\"", ""), Some(true));
        assert_eq!(steer("tools.synctime = \"FALSE\"", ""), Some(false));
        assert_eq!(steer("tools.syncTime = maybe", ""), None);
    }
}
