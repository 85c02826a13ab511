//! A machine's clocks under watch: the judgement that monitoring needs, events with their reasons, metrics, a page, and
//! the daemon that keeps them.
//!
//! The judgement ([`mod@judge`]) that `check` and `watch` share, the state machine that turns observations into events
//! ([`state`]) and the texts that others read ([`metrics`], [`page`]) are pure. The thin edges are in [`edge`] (files,
//! the kernel log, signals, the service manager), [`http`] (requests and the server) and [`daemon`], which ties them
//! together.
//!
//! These must not be here: rules of the kernel, causes and remedies (`clocksmith-diagnose`), ways to measure
//! (`clocksmith-measure`), the command line and its output (`clocksmith-cli`). Nothing here changes a clock.

pub mod assess;
pub mod cost;
pub mod daemon;
pub mod edge;
pub mod event;
pub mod history;
pub mod http;
pub mod judge;
pub mod metrics;
pub mod page;
pub mod range;
pub mod reason;
pub mod state;

pub use judge::{Judgement, Point, State, Thresholds, judge};
