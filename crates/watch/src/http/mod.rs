//! The watch over HTTP/1.1: reading only, one request a connection, every step with a limit and an end.
//!
//! What lives here: requests ([`request`]), answers ([`answer`]) and names of this server ([`host`]), all pure; who may
//! ask ([`auth`], [`budget`]); the web configuration file of Prometheus' exporters ([`web_config`], `yaml`), the
//! files it names (`material`) and its TLS part (`tls`); the server ([`server`]), its places ([`slots`]) and
//! which addresses come first (`standing`). What must not: what the pages say.

pub mod answer;
pub mod auth;
pub mod budget;
pub mod host;
mod material;
pub mod request;
pub mod server;
pub mod slots;
mod standing;
#[cfg(feature = "tls")]
mod tls;
mod turns;
pub mod web_config;
mod yaml;
