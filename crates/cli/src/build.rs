//! Which parts of the program were compiled in. `cargo run --release` leaves out the parts that a first try does not
//! need; packages have everything. A part that was left out prints how to get it.

/// The version, with the parts that this build lacks.
pub(crate) const VERSION: &str = match (cfg!(feature = "who"), cfg!(feature = "tls")) {
    (true, true) => env!("CARGO_PKG_VERSION"),
    (true, false) => concat!(env!("CARGO_PKG_VERSION"), " (built without TLS)"),
    (false, true) => concat!(env!("CARGO_PKG_VERSION"), " (built without who)"),
    (false, false) => concat!(env!("CARGO_PKG_VERSION"), " (built without who, TLS)"),
};

/// The error for a verb that was not compiled in.
#[cfg(not(feature = "who"))]
pub(crate) fn lacks(verb: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "this program was built without {verb}, as `cargo run --release` builds it: \
         `cargo build --profile dist --features full` makes target/dist/clocksmith, which has it, as the packages do"
    )
}
