//! Name patterns with `*` and `?`, for cases and for package names.

/// Whether `name` matches `pattern`, where `*` stands for any text and `?` for one character.
pub fn matches(pattern: &str, name: &str) -> bool {
    matches_with(pattern.as_bytes(), name.as_bytes(), |_| true)
}

/// Like [`matches()`], but `*` and `?` do not match a dash.
///
/// Package names put their parts between dashes, so `linux-image-6.1.0-*-amd64` means the plain
/// flavour and not `linux-image-6.1.0-56-cloud-amd64`.
pub fn matches_part(pattern: &str, name: &str) -> bool {
    matches_with(pattern.as_bytes(), name.as_bytes(), |byte| byte != b'-')
}

fn matches_with(pattern: &[u8], name: &[u8], wild: fn(u8) -> bool) -> bool {
    match (pattern.first(), name.first()) {
        (None, None) => true,
        (Some(b'*'), _) => {
            matches_with(&pattern[1..], name, wild)
                || name.first().is_some_and(|&c| wild(c) && matches_with(pattern, &name[1..], wild))
        }
        (Some(b'?'), Some(&c)) => wild(c) && matches_with(&pattern[1..], &name[1..], wild),
        (Some(p), Some(c)) => p == c && matches_with(&pattern[1..], &name[1..], wild),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text_also_none() {
        assert!(matches("smp2*@6.1", "smp2@6.1"));
        assert!(matches("*@7.x", "no-hpet@7.x"));
        assert!(!matches("smp?@6.1", "smp@6.1"));
    }

    #[test]
    fn in_package_names_a_star_stops_at_a_dash() {
        assert!(matches_part("linux-image-6.1.0-*-amd64", "linux-image-6.1.0-56-amd64"));
        assert!(!matches_part("linux-image-6.1.0-*-amd64", "linux-image-6.1.0-56-cloud-amd64"));
        assert!(matches_part(
            "linux-image-6.12.*-cloud-amd64",
            "linux-image-6.12.117+deb13-cloud-amd64"
        ));
    }
}
