//! The watch over HTTP/1.1: reading only, one request a connection, every step with a limit and an end.
//!
//! What lives here: requests ([`request`]) and answers ([`answer`]), both pure; who may ask ([`auth`]);
//! the web configuration file of Prometheus' exporters ([`web_config`]) and its TLS part (`tls`); the
//! server ([`server`]). What must not: what the pages say.

pub mod answer;
pub mod auth;
pub mod request;
pub mod server;
#[cfg(feature = "tls")]
mod tls;
pub mod web_config;
