//! Helpers of `who`: exact counts by the counting vDSO of `run`, and the terminal for `--top`. The meaning of counts
//! (`clocksmith_who::exact`) and the form of reports (`render`) must not be here.

pub(crate) mod counter;
pub(crate) mod top;
