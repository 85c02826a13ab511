//! Migration of a guest to another host: the effect on its TSC, and the programs that refuse it.
//!
//! This module has the arithmetic of scaled counters ([`scale`], [`rational`]), the known properties of [`host`]s and
//! of a [`guest`]'s clock, the answer for one host ([`decide`]), and the one frequency that serves many ([`fleet`]).
//! All of it is pure.
//!
//! It does not decide whether the guest's other CPU features, its memory or its disks permit the migration.

pub mod decide;
pub mod fleet;
pub mod guest;
pub mod host;
pub(crate) mod other;
pub mod rational;
pub mod scale;
