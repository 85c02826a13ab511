//! The watch over HTTP/1.1: reading only, one request per connection, every step with a limit and an end.
//!
//! The pure modules are requests ([`request`]), responses ([`answer`]) and names of this server ([`host`]). The others
//! are authentication ([`auth`], [`budget`]); the web configuration file of Prometheus' exporters ([`web_config`],
//! `yaml`), the files it names (`material`) and its TLS part (`tls`); the server ([`server`]), its places ([`slots`])
//! and the order of addresses (`standing`). The content of the pages is elsewhere.

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
