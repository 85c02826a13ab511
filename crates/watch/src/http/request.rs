//! One request head, from the bytes that have come so far. Pure.

use std::net::{IpAddr, SocketAddr};

/// Longest head, in bytes: the request line and all headers.
pub const HEAD: usize = 8 << 10;
/// Most headers.
const HEADERS: usize = 64;

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `HEAD`: the response has no body.
    pub head: bool,
    /// The path without the query.
    pub path: String,
    /// The header `Authorization`, if there is one.
    pub authorization: Option<String>,
    /// The header `Host`, if there is one.
    pub host: Option<String>,
    /// The client that a proxy forwards for: the last address of the last `X-Forwarded-For`, if that is one. The
    /// nearest proxy adds it; the client may have written the addresses before it.
    pub forwarded: Option<IpAddr>,
}

/// The result of parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// More must come.
    More,
    /// A whole request head.
    Whole(Request),
    /// A request that gets only this status.
    Refused(u16),
}

/// Parses the bytes received so far.
#[must_use]
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD => {}
        Ok(httparse::Status::Complete(_)) => return Parsed::Refused(431),
        Ok(httparse::Status::Partial) if bytes.len() < HEAD => return Parsed::More,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Parsed::Refused(431);
        }
        Err(_) => return Parsed::Refused(400),
    }
    let head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Parsed::Refused(405),
    };
    let Some(path) = request.path.filter(|path| path.starts_with('/')) else {
        return Parsed::Refused(400);
    };
    // A body would be read as the next request; clients do not send one with these methods.
    let body = request.headers.iter().any(|header| {
        let name = header.name;
        name.eq_ignore_ascii_case("transfer-encoding")
            || name.eq_ignore_ascii_case("content-length") && header.value != b"0"
    });
    if body {
        return Parsed::Refused(413);
    }
    // A header twice could mean one thing here and another elsewhere.
    let once = |name: &str| {
        let mut given =
            request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        match (given.next(), given.next()) {
            (None, _) => Ok(None),
            (Some(header), None) => match std::str::from_utf8(header.value) {
                Ok(value) => Ok(Some(value.trim().to_owned())),
                Err(_) => Err(400),
            },
            (Some(_), Some(_)) => Err(400),
        }
    };
    let (authorization, host) = match (once("authorization"), once("host")) {
        (Ok(authorization), Ok(host)) => (authorization, host),
        (Err(status), _) | (_, Err(status)) => return Parsed::Refused(status),
    };
    // RFC 9112, 3.2: HTTP/1.1 has the header always.
    if host.is_none() && request.version == Some(1) {
        return Parsed::Refused(400);
    }
    let forwarded =
        request.headers.iter().rev().find(|h| h.name.eq_ignore_ascii_case("x-forwarded-for"));
    let forwarded = forwarded.and_then(|header| last_address(header.value));
    let path = path.split(['?', '#']).next().unwrap_or(path).to_owned();
    Parsed::Whole(Request { head, path, authorization, host, forwarded })
}

fn last_address(list: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(list).ok()?.rsplit(',').next()?.trim();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests() {
        let whole = |text: &str| match parse(text.as_bytes()) {
            Parsed::Whole(request) => request,
            other => panic!("{other:?}"),
        };
        let request =
            whole("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nauthorization: Basic eA==\r\n\r\n");
        assert_eq!((request.path.as_str(), request.head), ("/metrics", false));
        assert_eq!(request.authorization.as_deref(), Some("Basic eA=="));
        assert!(whole("HEAD / HTTP/1.0\r\n\r\n").head);
        let forwarded =
            |headers: &str| whole(&format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n")).forwarded;
        let address = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        assert_eq!(forwarded(""), None);
        assert_eq!(forwarded("X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n"), address("192.0.2.2"));
        let twice = "x-forwarded-for: 192.0.2.1\r\nX-Forwarded-For: [2001:db8::1]:80\r\n";
        assert_eq!(forwarded(twice), address("2001:db8::1"));
        assert_eq!(forwarded("X-Forwarded-For: 192.0.2.1, unknown\r\n"), None);
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost"), Parsed::More);
        for (text, status) in [
            ("POST / HTTP/1.1\r\n\r\n", 405),
            ("GET http://other/ HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("\x16\x03\x01\x02\x00\x01", 400),
            ("GET / HTTP/9.9\r\n\r\n", 400),
        ] {
            assert_eq!(parse(text.as_bytes()), Parsed::Refused(status), "{text:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(HEAD));
        assert_eq!(parse(long.as_bytes()), Parsed::Refused(431));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert_eq!(parse(many.as_bytes()), Parsed::Refused(431));
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_request_that_comes_bit_by_bit_is_the_same(cut in 0usize..60) {
            let text = b"GET /metrics HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
            let cut = cut.min(text.len() - 1);
            prop_assert_eq!(parse(&text[..cut]), Parsed::More);
            prop_assert!(matches!(parse(text), Parsed::Whole(_)));
        }
    }
}
