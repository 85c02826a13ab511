//! Layers between this process and the kernel: containers, WSL, gVisor.

use crate::Fact;
use serde::Serialize;
use std::collections::BTreeMap;

/// Container, WSL, gVisor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// The container runtime, if this process runs in one; `None` inside means none was found.
    pub container: Fact<Option<String>>,
    /// Windows Subsystem for Linux.
    pub wsl: Fact<bool>,
    /// gVisor's user-space kernel (no Linux clocksource at all).
    pub gvisor: Fact<bool>,
}

/// Inode numbers of the initial namespaces, fixed in `include/linux/proc_ns.h` since 3.8 (cgroup:
/// 4.6).
const INITIAL: [(&str, u64); 4] =
    [("cgroup", 0xEFFF_FFFB), ("pid", 0xEFFF_FFFC), ("uts", 0xEFFF_FFFE), ("ipc", 0xEFFF_FFFF)];

/// Whether the text `NAME: INODE` for each namespace shows that this process runs in the machine's
/// initial namespaces; `None` if it does not show it. A marker file such as `/.dockerenv` proves nothing
/// for this question: virtual machines are made from container images.
#[must_use]
pub(crate) fn in_initial_namespaces(text: &str) -> Option<bool> {
    let inodes: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter_map(|(name, inode)| Some((name.trim(), inode.trim().parse().ok()?)))
        .collect();
    inodes.get("pid")?;
    Some(INITIAL.iter().all(|(name, inode)| inodes.get(name).is_none_or(|found| found == inode)))
}

/// The container runtime that a `/proc/1/cgroup` names.
#[must_use]
pub(crate) fn runtime_of_cgroup(text: &str) -> Option<&'static str> {
    const RUNTIMES: [(&str, &str); 6] = [
        ("kubepods", "kubernetes"),
        ("/docker", "docker"),
        ("libpod", "podman"),
        ("/lxc", "lxc"),
        ("crio-", "cri-o"),
        ("containerd", "containerd"),
    ];
    RUNTIMES.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| *name)
}

/// The value of `container=` in a NUL-separated environment.
#[must_use]
pub(crate) fn container_of_environ(environ: &[u8]) -> Option<String> {
    let value = environ
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(b"container=".as_slice()))?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
}

/// Whether a kernel release or banner is that of the Windows Subsystem for Linux.
#[must_use]
pub fn is_wsl(release: &str) -> bool {
    release.contains("WSL") || release.to_ascii_lowercase().contains("microsoft-standard")
        // WSL 1: `4.4.0-19041-Microsoft`.
        || release.split_ascii_whitespace().any(|word| word.ends_with("-Microsoft"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn namespaces() {
        let host = "cgroup: 4026531835\nipc: 4026531839\npid: 4026531836\nuts: 4026531838\n";
        assert_eq!(in_initial_namespaces(host), Some(true));
        assert_eq!(in_initial_namespaces(&host.replace("836", "999")), Some(false));
        assert_eq!(in_initial_namespaces("uts: 4026531838\n"), None);
    }

    #[test]
    fn runtimes() {
        assert_eq!(runtime_of_cgroup("0::/\n"), None);
        assert_eq!(runtime_of_cgroup("12:pids:/docker/0123456789abcdef\n"), Some("docker"));
        assert_eq!(runtime_of_cgroup("1:cpu:/kubepods/besteffort/pod1/x\n"), Some("kubernetes"));
        assert_eq!(container_of_environ(b"A=b\0container=lxc\0C=d").as_deref(), Some("lxc"));
        assert_eq!(container_of_environ(b"Xcontainer=lxc\0container="), None);
    }

    #[test]
    fn wsl() {
        assert!(is_wsl("5.15.153.1-microsoft-standard-WSL2"));
        assert!(is_wsl("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)"));
        // Azure's and Microsoft's own server kernels are not WSL.
        assert!(!is_wsl("Linux version 6.6.57.1-4.cm2 (root@CBL-Mariner) (microsoft)"));
        assert!(!is_wsl("5.15.0-1045-azure"));
    }

    proptest! {
        #[test]
        fn any_text(text in "[\\PC\n\\x00]{0,100}") {
            let _ = (in_initial_namespaces(&text), runtime_of_cgroup(&text), is_wsl(&text));
            let _ = container_of_environ(text.as_bytes());
        }
    }
}
