//! What `who` needs from elsewhere: exact counts by the counting vDSO of `run`, and the terminal for
//! `--top`. What must not live here: what counts mean (`clocksmith_who::exact`), and how reports look
//! (`render`).

pub(crate) mod counter;
pub(crate) mod top;
