//! The banner, with which each boot begins: `Linux version 6.1.0-13-amd64 (debian-kernel@...) ...`.
//!
//! A message about a process can begin with the name of the process, which any user chooses: up to 15 bytes (`TASK_COMM_LEN`),
//! such as `Linux version 2` in `Linux version 2[77]: segfault at ...`. They have no place for two numbers of a version.

/// The first words of a banner.
pub(crate) const BEGIN: &str = "Linux version ";

/// The text of a banner after its first words; `None` for any other message.
pub(crate) fn behind(message: &str) -> Option<&str> {
    let rest = message.strip_prefix(BEGIN)?;
    is_version(rest.as_bytes()).then_some(rest)
}

/// Whether a message is a banner.
pub(crate) fn is(message: &str) -> bool {
    behind(message).is_some()
}

/// Whether a text has the words of a banner, anywhere in a line.
pub(crate) fn is_in(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, BEGIN.as_bytes())
        .any(|at| text.get(at + BEGIN.len()..).is_some_and(is_version))
}

/// Whether a text begins with two numbers and a dot between them.
pub(crate) fn is_version(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text.get(digits..).unwrap_or_default();
    digits > 0 && rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banner_has_a_version_and_no_name_of_a_process_has_one() {
        for (text, behind) in [
            ("Linux version 6.1.0-13-amd64 (x)", Some("6.1.0-13-amd64 (x)")),
            ("Linux version 2.6.32", Some("2.6.32")),
            ("Linux version 2[77]: segfault at 0 ip 0 sp 0 error 4 in 6.1[1+1]", None),
            ("Linux version 6 invoked oom-killer: gfp_mask=0x1", None),
            ("Linux version 6.: page allocation failure: order:0", None),
            ("Linux version control", None),
            ("usb 1-1: Product: Linux version 6.1.0", None),
        ] {
            assert_eq!(super::behind(text), behind, "{text}");
        }
        assert!(is_in(b"[ 0.0] Linux version 2 x\n[ 0.0] Linux version 6.1"));
        assert!(!is_in(b"tmpfs: Unknown parameter 'Linux version '\nLinux version 6"));
    }
}
