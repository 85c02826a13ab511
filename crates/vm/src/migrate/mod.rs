//! Moving a guest to another host: what becomes of its TSC, and who refuses.
//!
//! What lives here: the arithmetic of scaled counters ([`scale`], [`rational`]), what is known of
//! [`host`]s and of a [`guest`]'s clock, the answer for one host ([`decide`]), and the one frequency
//! that serves many ([`fleet`]). All of it is pure.
//!
//! What must not live here: whether the guest's other CPU features, its memory or its disks let it go.

pub mod decide;
pub mod fleet;
pub mod guest;
pub mod host;
pub(crate) mod other;
pub mod rational;
pub mod scale;
