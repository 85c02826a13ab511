//! Changes to a machine's clocks: made, read back, and taken back whatever happens.
//!
//! What lives here: choosing another clocksource in the running kernel ([`switch`]); the
//! [`guardian`], a process that outlives whoever chose and puts things back; what would be changed
//! ([`plan`]); and the [`journal`], which changes it, all or nothing, and takes it back.
//!
//! What must not live here: why anybody would want that, measuring, any printing.

pub mod guardian;
pub mod journal;
pub mod plan;
pub mod switch;
pub mod unit;

pub use guardian::{Guardian, Watched};
pub use plan::{Action, Plan, Step};
pub use switch::{ChangeError, Known, Refusal, Sysfs, refuse};
