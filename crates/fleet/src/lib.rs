//! The reports of many machines, without an engine: the content of a line, and the rows made from
//! it.
//!
//! This crate has the splitter of inputs into documents ([`documents`]), the parser from such a text to the report of
//! `why` ([`parse`]), the rows that the report becomes ([`row`]) and their tables ([`table`]), the counts made while
//! reading ([`intake`]), the choice among several reports of a host ([`newest`]), the changes between reports
//! ([`changes`]), the groups that are not SQL ([`migration`]), the report ([`report`]) and its text ([`render`], in 80
//! [`columns`]), and synthetic fleets for tests ([`generate`]).
//!
//! It must not have files, threads, an engine for queries (`fleet/` at the top has them) or rules about
//! clocks.

#![forbid(unsafe_code)]

pub mod changes;
pub mod columns;
pub mod documents;
pub mod generate;
pub mod intake;
pub mod migration;
pub mod newest;
pub mod parse;
pub mod render;
pub mod report;
pub mod row;
pub mod table;
