//! The TLS part of the web configuration, for rustls.

use super::material::{Content, read};
use super::web_config::{ConfigError, TlsConfig};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    NamedGroup, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
    version,
};
use std::path::Path;
use std::sync::Arc;

/// The server side of a TLS configuration whose files are relative to `dir`.
///
/// # Errors
/// Returns an error if a certificate, a key or an option cannot be used.
pub(super) fn config(
    tls: &TlsConfig,
    dir: &Path,
    warnings: &mut Vec<String>,
) -> Result<Arc<ServerConfig>, ConfigError> {
    let cert = material("cert", tls.cert.as_deref(), tls.cert_file.as_deref(), dir, warnings)?;
    let key = material("key", tls.key.as_deref(), tls.key_file.as_deref(), dir, warnings)?;
    let (Some(cert), Some(key)) = (cert, key) else {
        return Err(ConfigError::Tls("both a certificate and a key are needed".to_owned()));
    };
    let chain = certificates("certificate", &cert)?;
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|error| ConfigError::Tls(format!("no key in the key's file: {error}")))?;
    let provider = Arc::new(provider(tls)?);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(tls)?)
        .map_err(|error| ConfigError::Tls(format!("versions and suites do not match: {error}")))?;
    let (ca, ca_file) = (tls.client_ca.as_deref(), tls.client_ca_file.as_deref());
    let ca = material("client_ca", ca, ca_file, dir, warnings)?;
    let builder = match (tls.client_auth_type.as_deref().unwrap_or("NoClientCert"), ca) {
        ("NoClientCert" | "", None) => builder.with_no_client_auth(),
        ("NoClientCert" | "", Some(_)) => {
            return Err(ConfigError::Tls(
                "client_ca without client_auth_type: set it to RequireAndVerifyClientCert"
                    .to_owned(),
            ));
        }
        (kind @ ("RequireAndVerifyClientCert" | "VerifyClientCertIfGiven"), Some(ca)) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates("client_ca", &ca)? {
                roots
                    .add(certificate)
                    .map_err(|error| ConfigError::Tls(format!("client_ca: {error}")))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            let verifier = match kind {
                "VerifyClientCertIfGiven" => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            let verifier = verifier
                .build()
                .map_err(|error| ConfigError::Tls(format!("client_ca: {error}")))?;
            builder.with_client_cert_verifier(verifier)
        }
        ("RequireAndVerifyClientCert" | "VerifyClientCertIfGiven", None) => {
            return Err(ConfigError::Tls("client_auth_type needs client_ca_file".to_owned()));
        }
        (other, _) => {
            return Err(ConfigError::Tls(format!(
                "client_auth_type {other:?} is not supported; NoClientCert, VerifyClientCertIfGiven \
                 and RequireAndVerifyClientCert are"
            )));
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| ConfigError::Tls(format!("certificate and key: {error}")))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Nothing is kept from one connection to the next: a scrape a minute does not need it.
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Contents in the configuration itself, or in a file.
fn material(
    what: &str,
    inline: Option<&str>,
    file: Option<&str>,
    dir: &Path,
    warnings: &mut Vec<String>,
) -> Result<Option<Vec<u8>>, ConfigError> {
    let content = if what == "key" { Content::Secret } else { Content::Public };
    let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    match (given(inline), given(file)) {
        (Some(_), Some(_)) => {
            Err(ConfigError::Tls(format!("both {what} and {what}_file; one is enough")))
        }
        (Some(text), None) => Ok(Some(text.into_bytes())),
        (None, Some(file)) => {
            let path = dir.join(file);
            read(&path, content, warnings).map(Some).map_err(|error| {
                ConfigError::Tls(format!("cannot read {what}_file {}: {error}", path.display()))
            })
        }
        (None, None) => Ok(None),
    }
}

fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(list) if !list.is_empty() => Ok(list),
        Ok(_) => Err(ConfigError::Tls(format!("no certificate in the PEM of the {what}"))),
        Err(error) => Err(ConfigError::Tls(format!("the PEM of the {what}: {error}"))),
    }
}

fn versions(tls: &TlsConfig) -> Result<Vec<&'static SupportedProtocolVersion>, ConfigError> {
    let number = |field: &str, text: Option<&str>, default: u8| match text.unwrap_or("") {
        "" => Ok(default),
        "TLS10" | "TLS11" if field == "min_version" => Ok(12),
        "TLS12" => Ok(12),
        "TLS13" => Ok(13),
        other => Err(ConfigError::Tls(format!(
            "{field} {other:?} is not supported; TLS12 and TLS13 \
                                               are"
        ))),
    };
    let min = number("min_version", tls.min_version.as_deref(), 12)?;
    let max = number("max_version", tls.max_version.as_deref(), 13)?;
    let all = [(12, &version::TLS12), (13, &version::TLS13)];
    let chosen: Vec<_> =
        all.into_iter().filter(|(n, _)| (min..=max).contains(n)).map(|(_, v)| v).collect();
    if chosen.is_empty() {
        return Err(ConfigError::Tls("min_version is above max_version".to_owned()));
    }
    Ok(chosen)
}

/// Suites and groups: the requested ones, in rustls' order of preference.
fn provider(tls: &TlsConfig) -> Result<CryptoProvider, ConfigError> {
    let mut provider = ring::default_provider();
    if !tls.cipher_suites.is_empty() {
        let name = |suite: &SupportedCipherSuite| format!("{:?}", suite.suite());
        let is = |wanted: &str, name: &str| {
            wanted.trim_end_matches("_SHA256") == name.trim_end_matches("_SHA256")
        };
        let there: Vec<String> = provider.cipher_suites.iter().map(name).collect();
        let old: Vec<&str> =
            there.iter().map(String::as_str).filter(|name| !name.starts_with("TLS13_")).collect();
        // In Go the suites of TLS 1.3 cannot be chosen either, and have no names here.
        let unknown = tls.cipher_suites.iter().find(|wanted| {
            let new = there.iter().any(|name| is(&wanted.replacen("TLS_", "TLS13_", 1), name));
            !new && !old.iter().any(|name| is(wanted, name))
        });
        if let Some(unknown) = unknown {
            let known = old.join(", ");
            return Err(ConfigError::Tls(format!(
                "cipher_suites: there is no suite {unknown:?}; the suites are {known}"
            )));
        }
        provider.cipher_suites.retain(|suite| {
            let name = name(suite);
            name.starts_with("TLS13_") || tls.cipher_suites.iter().any(|wanted| is(wanted, &name))
        });
    }
    if let Some(unknown) = tls
        .curve_preferences
        .iter()
        .find(|curve| !["X25519", "CurveP256", "CurveP384"].contains(&curve.as_str()))
    {
        return Err(ConfigError::Tls(format!(
            "curve_preferences: there is no curve {unknown:?}; the curves are X25519, CurveP256 and \
             CurveP384"
        )));
    }
    if !tls.curve_preferences.is_empty() {
        let wanted = |group: &&'static dyn SupportedKxGroup| {
            let name = match group.name() {
                NamedGroup::X25519 => "X25519",
                NamedGroup::secp256r1 => "CurveP256",
                NamedGroup::secp384r1 => "CurveP384",
                _ => return false,
            };
            tls.curve_preferences.iter().any(|curve| curve == name)
        };
        provider.kx_groups.retain(wanted);
        if provider.kx_groups.is_empty() {
            let known = "there are X25519, CurveP256 and CurveP384";
            return Err(ConfigError::Tls(format!("curve_preferences: {known}")));
        }
    }
    Ok(provider)
}
