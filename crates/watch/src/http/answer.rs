//! Responses, as bytes. Pure.

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Media type of the body.
    pub media: &'static str,
    /// The body.
    pub body: String,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

/// Metrics.
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// A page.
pub const HTML: &str = "text/html; charset=utf-8";
/// Plain text.
pub const PLAIN: &str = "text/plain; charset=utf-8";
/// JSON Lines.
pub const JSON_LINES: &str = "application/x-ndjson; charset=utf-8";

/// The resources that a page may load: its own style, and nothing from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Answer {
    /// A response with a body.
    #[must_use]
    pub fn new(media: &'static str, body: String) -> Self {
        Self { status: 200, media, body, headers: Vec::new() }
    }

    /// A refusal, or any other response that consists of its status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        let body = format!("{status} {}\n", phrase(status));
        let mut answer = Self { status, media: PLAIN, body, headers: Vec::new() };
        match status {
            401 => answer.headers.push((
                "WWW-Authenticate",
                "Basic realm=\"clocksmith\", charset=\"UTF-8\"".to_owned(),
            )),
            405 => answer.headers.push(("Allow", "GET, HEAD".to_owned())),
            429 | 503 => answer.headers.push(("Retry-After", "1".to_owned())),
            _ => {}
        }
        answer
    }

    /// Returns the bytes to send; the administrator's headers `own` replace those of the same name.
    #[must_use]
    pub fn bytes(&self, head: bool, own: &[(String, String)]) -> Vec<u8> {
        let mut headers: Vec<(&str, String)> = vec![
            ("Content-Type", self.media.to_owned()),
            ("Content-Length", self.body.len().to_string()),
            ("Connection", "close".to_owned()),
            ("Cache-Control", "no-store".to_owned()),
            ("Content-Security-Policy", POLICY.to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
            ("X-Frame-Options", "deny".to_owned()),
            ("Referrer-Policy", "no-referrer".to_owned()),
        ];
        headers.extend(self.headers.iter().map(|(name, value)| (*name, value.clone())));
        for (name, value) in own {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name, value.clone()));
        }
        let mut out = format!("HTTP/1.1 {} {}\r\n", self.status, phrase(self.status));
        for (name, value) in headers {
            // A line break in a value would begin another header: control characters are removed here.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        out.push_str("\r\n");
        if !head {
            out.push_str(&self.body);
        }
        out.into_bytes()
    }
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_close_and_forbid_everything_from_outside() {
        let text = String::from_utf8(Answer::new(HTML, "x".to_owned()).bytes(false, &[])).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nx"));
        assert!(text.contains("Connection: close\r\n") && text.contains("default-src 'none'"));
        let own = [("x-frame-options".to_owned(), "sameorigin\r\nEvil: 1".to_owned())];
        let text = String::from_utf8(Answer::status(401).bytes(true, &own)).unwrap();
        assert!(text.ends_with("\r\n\r\n") && text.contains("WWW-Authenticate: Basic"));
        assert!(text.contains("sameoriginEvil: 1\r\n") && !text.contains("deny"), "{text}");
        assert!(text.contains("Content-Length: 17\r\n"), "{text}");
    }
}
