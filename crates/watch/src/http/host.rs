//! The names by which a client may have addressed this server. Pure.
//!
//! A page from anywhere can have its own name resolved to a loopback address (DNS rebinding), and then its scripts read
//! the responses of a server there. The name is in the request, and it is not one of this server's.

use std::net::IpAddr;

/// Returns whether a request to a loopback address with this header `Host` may be served. A request without the header
/// is not a browser's. `names` are allowed besides `localhost` and addresses of loopback.
#[must_use]
pub fn allowed(host: Option<&str>, names: &[String]) -> bool {
    let Some(host) = host else { return true };
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if is_port(port) => name,
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()) => {
                name
            }
            Some(_) => return false,
            None => host,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            name.eq_ignore_ascii_case("localhost")
                || !name.is_empty() && names.iter().any(|known| name.eq_ignore_ascii_case(known))
        }
    }
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_names_and_no_other() {
        let names = ["web1".to_owned()];
        for good in [
            "localhost",
            "localhost:9988",
            "LOCALHOST.",
            "127.0.0.1:9988",
            "127.9.9.9",
            "[::1]",
            "[::1]:9988",
            "web1:9988",
            "WEB1",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(allowed(Some(good), &names), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:9988",
            "localhost.evil.example",
            "web1.evil",
            "192.0.2.1",
            "[2001:db8::1]",
            "127.0.0.1.evil.example",
            "localhost:",
            "localhost:x",
            "[::1",
            "[::1]x",
            "::1",
        ] {
            assert!(!allowed(Some(bad), &names), "{bad}");
        }
        assert!(allowed(None, &names) && !allowed(Some("web1"), &[]));
    }

    proptest! {
        #[test]
        fn any_host(host: String) {
            let _ = allowed(Some(&host), &[]);
        }
    }
}
