//! Changes to a machine's clocks: made, read back, and reverted on any failure.
//!
//! This crate chooses another clocksource in the running kernel ([`switch`]). The [`guardian`] is a process that
//! outlives the one that made the choice, and restores the previous clocksource. [`system`] identifies the system,
//! [`boot`] configures its boot loader (with [`words`] of a kernel command line), and [`mistakes`] finds errors in the
//! present configuration. [`propose`] decides which change is made; some risks must be accepted by name ([`accept`]).
//! The result is data ([`plan`]), or a text for a tool that manages many machines ([`formats`]). The
//! [`journal`] makes a change, all or nothing, and reverts it; [`trial`] decides whether a change stays.
//!
//! It must not diagnose a clock (`clocksmith-diagnose`), measure, or print.

pub mod accept;
pub mod boot;
pub mod formats;
pub mod guardian;
pub mod journal;
pub mod known;
pub mod mistakes;
pub mod plan;
pub mod propose;
pub mod switch;
pub mod system;
pub mod trial;
pub mod unit;
pub mod words;

pub use guardian::{Guardian, Watched};
pub use plan::{Action, Plan, Step};
pub use switch::{ChangeError, Known, Refusal, Sysfs, refuse};
