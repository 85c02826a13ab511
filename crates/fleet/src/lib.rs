//! The reports of many machines, without an engine: what a line holds, and what it becomes.
//!
//! What lives here: the splitter of inputs into documents ([`documents`]), from such a text to the report
//! of `why` ([`parse`]), the rows that it becomes ([`row`]) and the tables that they make
//! ([`table`]), what is counted while reading ([`intake`]), the groups that are not SQL ([`migration`]),
//! the report ([`report`]) and its text ([`render`], in 80 [`columns`]), and made-up fleets for tests ([`generate`]).
//!
//! What must not live here: files, threads, an engine for queries (`fleet/` at the top has them), rules
//! about clocks.

#![forbid(unsafe_code)]

pub mod columns;
pub mod documents;
pub mod generate;
pub mod intake;
pub mod migration;
pub mod parse;
pub mod render;
pub mod report;
pub mod row;
pub mod table;
