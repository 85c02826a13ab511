//! Risks that can be accepted by name, and the options that name them.

/// Risks that can be accepted; each is named after the possible harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// `--accept-time-may-go-backward`.
    pub backward: bool,
    /// `--accept-unverified-counter`.
    pub unverified: bool,
}

/// The option that accepts that time may go backward.
pub const BACKWARD: &str = "--accept-time-may-go-backward";
/// The option that accepts a counter that could not be verified.
pub const UNVERIFIED: &str = "--accept-unverified-counter";
