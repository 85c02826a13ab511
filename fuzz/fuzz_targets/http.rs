//! Requests of clients to `watch`, its web configuration and its history.
#![no_main]

use clocksmith_watch::history::History;
use clocksmith_watch::http::request::{HEAD, Parsed, parse};
use clocksmith_watch::http::web_config::WebConfig;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match parse(data) {
        Parsed::Whole(request) => {
            assert!(request.path.starts_with('/') && !request.path.contains(['?', '\r', '\n']));
        }
        Parsed::Refused(status) => assert!((400..500).contains(&status)),
        Parsed::More => assert!(data.len() < HEAD),
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = WebConfig::parse(text);
        History::default().load(text);
    }
});
