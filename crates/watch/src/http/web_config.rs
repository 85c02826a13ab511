//! The web configuration file that Prometheus' exporters share (exporter-toolkit,
//! `docs/web-configuration.md`, 2026): TLS, basic authentication, headers. Pure: from text. Fields that
//! would promise a protection which this server does not have are refused, not ignored.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The least cost that bcrypt has: with less, no password fits.
const CHEAPEST: u32 = 4;
/// The costliest bcrypt hash: 16 takes seconds.
const COSTLIEST: u32 = 16;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not the format.
    #[error("not a web configuration: {0}")]
    Format(String),
    /// A field that cannot be honoured.
    #[error("{0}")]
    Field(String),
    /// Files or contents of the TLS part.
    #[error("tls_server_config: {0}")]
    Tls(String),
}

/// The file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// TLS; without it plain HTTP.
    pub tls_server_config: Option<TlsConfig>,
    /// Headers.
    pub http_server_config: HttpConfig,
    /// Users with bcrypt hashes; without any, every client may read.
    pub basic_auth_users: BTreeMap<String, String>,
    /// Not supported: refused if it is present.
    pub rate_limit: Option<serde_json::Value>,
}

/// The TLS part. Files are relative to the directory of the configuration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// Certificate chain, PEM.
    pub cert: Option<String>,
    /// Private key, PEM.
    pub key: Option<String>,
    /// Certificates of the authorities that may sign clients' certificates, PEM.
    pub client_ca: Option<String>,
    /// The same from files.
    pub cert_file: Option<String>,
    /// See `cert_file`.
    pub key_file: Option<String>,
    /// See `cert_file`.
    pub client_ca_file: Option<String>,
    /// `NoClientCert`, `VerifyClientCertIfGiven` or `RequireAndVerifyClientCert`.
    pub client_auth_type: Option<String>,
    /// Not supported.
    pub client_allowed_sans: Vec<String>,
    /// `TLS12` or `TLS13`; older ones mean `TLS12`.
    pub min_version: Option<String>,
    /// `TLS12` or `TLS13`.
    pub max_version: Option<String>,
    /// Suites of TLS 1.2, by the names of Go.
    pub cipher_suites: Vec<String>,
    /// `CurveP256`, `CurveP384`, `X25519`.
    pub curve_preferences: Vec<String>,
    /// The server's order holds, always.
    pub prefer_server_cipher_suites: Option<bool>,
}

/// The HTTP part.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// The server does not support HTTP/2, so the value has no effect.
    pub http2: Option<bool>,
    /// Headers of every response.
    pub headers: BTreeMap<String, String>,
}

/// Headers that may be set.
const HEADERS: [&str; 5] = [
    "Content-Security-Policy",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "X-XSS-Protection",
    "Strict-Transport-Security",
];

impl WebConfig {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// Returns the fault and its place.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut value = super::yaml::parse(text).map_err(ConfigError::Format)?;
        let users = value.get("basic_auth_users");
        let nobody = users.is_some_and(|users| {
            users.is_null() || users.as_object().is_some_and(serde_json::Map::is_empty)
        });
        // The author of such a section wants a password, and the file may have been cut.
        if nobody {
            return Err(ConfigError::Field(
                "basic_auth_users has no user, so every client could read this; add one with htpasswd -nBC 10 USER, or remove \
                 basic_auth_users"
                    .to_owned(),
            ));
        }
        // An empty part is the same as an absent one.
        if let Some(parts) = value.as_object_mut() {
            parts.retain(|_, part| !part.is_null());
        }
        // An empty file is an empty configuration.
        let config: Option<Self> = serde_json::from_value(value)
            .map_err(|error| ConfigError::Format(error.to_string()))?;
        let config = config.unwrap_or_default();
        let refuse = |what: String| Err(ConfigError::Field(what));
        if config.rate_limit.is_some() {
            return refuse("rate_limit is not supported; remove it".to_owned());
        }
        for (user, hash) in &config.basic_auth_users {
            let cost = hash.split('$').nth(2).and_then(|cost| cost.parse::<u32>().ok());
            let known = hash.starts_with("$2") && hash.len() == 60;
            // The original implementation hashed some passwords alike, by a bug; crypt(5) calls it unsafe.
            if hash.starts_with("$2x$") {
                return refuse(format!(
                    "basic_auth_users: the hash of {user:?} begins with $2x$, which stands for a faulty bcrypt; make a \
                     new one with htpasswd -nBC 10 USER"
                ));
            }
            match cost {
                Some(cost) if known && cost > COSTLIEST => {
                    return refuse(format!(
                        "basic_auth_users: the hash of {user:?} has cost {cost}, which would take \
                         minutes; at most {COSTLIEST}"
                    ));
                }
                Some(cost) if known && cost < CHEAPEST => {
                    return refuse(format!(
                        "basic_auth_users: the hash of {user:?} has cost {cost}, which bcrypt does not have; at least \
                         {CHEAPEST}. Make a new one with htpasswd -nBC 10 USER"
                    ));
                }
                Some(_) if known && hash.is_ascii() => {}
                _ => {
                    return refuse(format!(
                        "basic_auth_users: {user:?} has no bcrypt hash; make one with htpasswd -nBC 10 \
                         USER"
                    ));
                }
            }
            if user.contains(':') {
                return refuse(format!("basic_auth_users: {user:?} has a colon"));
            }
        }
        for name in config.http_server_config.headers.keys() {
            if !HEADERS.contains(&name.as_str()) {
                let all = HEADERS.join(", ");
                return refuse(format!(
                    "http_server_config: there is no header {name:?}; the headers \
                                       are {all}"
                ));
            }
        }
        if let Some(tls) = &config.tls_server_config
            && !tls.client_allowed_sans.is_empty()
        {
            return refuse("client_allowed_sans is not supported; remove it".to_owned());
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_of_exporters() {
        assert_eq!(WebConfig::parse("").unwrap(), WebConfig::default());
        assert_eq!(WebConfig::parse("# nothing\n").unwrap(), WebConfig::default());
        let text = "tls_server_config:\n  cert_file: a.crt\n  key_file: a.key\n  min_version: TLS13\n\
             http_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: deny\n\
             basic_auth_users:\n  alice: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n";
        let config = WebConfig::parse(text).unwrap();
        assert_eq!(config.tls_server_config.unwrap().key_file.as_deref(), Some("a.key"));
        assert!(config.basic_auth_users.contains_key("alice"));
    }

    #[test]
    fn part_for_users_without_any_is_refused() {
        for text in [
            "basic_auth_users:\n",
            "basic_auth_users: {}\n",
            "basic_auth_users: ~\n",
            "basic_auth_users:\n  # alice: x\n",
        ] {
            let error = WebConfig::parse(text).unwrap_err().to_string();
            assert!(error.contains("basic_auth_users has no user"), "{text}: {error}");
        }
        for text in ["", "tls_server_config:\n", "http_server_config:\n"] {
            assert!(WebConfig::parse(text).unwrap().basic_auth_users.is_empty(), "{text}");
        }
    }

    #[test]
    fn what_would_be_a_false_promise_is_refused() {
        let hash = "$2y$31$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";
        for (text, what) in [
            ("basic_auth_user:\n  a: b\n".to_owned(), "unknown field"),
            ("basic_auth_users:\n  a: plain\n".to_owned(), "htpasswd"),
            (format!("basic_auth_users:\n  a: {hash}\n"), "cost 31"),
            (format!("basic_auth_users:\n  a: {}\n", hash.replace("31", "03")), "cost 3, which"),
            (format!("basic_auth_users:\n  a: {}\n", hash.replace("2y$31", "2x$10")), "$2x$"),
            ("rate_limit:\n  burst: 3\n".to_owned(), "rate_limit"),
            ("tls_server_config:\n  client_allowed_sans: [a]\n".to_owned(), "client_allowed_sans"),
            ("http_server_config:\n  headers:\n    Set-Cookie: x\n".to_owned(), "no header"),
            ("[".to_owned(), "not a web configuration"),
            ("basic_auth_users:\n  a:\n".to_owned(), "not a web configuration"),
            ("basic_auth_users:\n  a: x\n  a: y\n".to_owned(), "twice"),
        ] {
            let error = WebConfig::parse(&text).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in any::<String>()) {
            let _ = WebConfig::parse(&text);
        }
    }
}
