//! Changes to a machine's clocks: made, read back, and taken back whatever happens.
//!
//! What lives here: choosing another clocksource in the running kernel ([`switch`]); the
//! [`guardian`], a process that outlives whoever chose and puts things back; what system this is
//! ([`system`]), how its boot loader is told ([`boot`], in [`words`] of a kernel command line) and what is wrong with that as it stands
//! ([`mistakes`]); what should be changed ([`propose`]), for which
//! risks must be accepted by name ([`accept`]); it comes, as data ([`plan`]), or in the languages of
//! those who manage many machines ([`formats`]); the [`journal`], which changes it, all or nothing, and
//! takes it back; and whether a change stays ([`trial`]).
//!
//! What must not live here: what is wrong with a clock (`clocksmith-diagnose`), measuring, any printing.

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
