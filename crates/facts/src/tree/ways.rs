//! This program's advice on how to get a file that could not be read.
//!
//! A bundle brings the advice of the program that wrote it. Its author is not trusted: a sentence that is not one of
//! these could be a command of theirs, and a reader would run it as advice of this program.

/// For a file that only root can read.
pub(crate) const AS_ROOT: &str = "run as root";
/// For one that root cannot read either.
pub(crate) const OUTSIDE: &str = "run outside the container or sandbox";
/// For the kernel log of a container.
pub(crate) const CAPABILITY: &str = "give the container CAP_SYSLOG: docker run --cap-add SYSLOG";
/// For a system without processes.
pub(crate) const MOUNT_PROC: &str = "mount /proc";

/// Whether a sentence is one of these.
pub(super) fn is_ours(how: &str) -> bool {
    [AS_ROOT, OUTSIDE, CAPABILITY, MOUNT_PROC].contains(&how)
}
