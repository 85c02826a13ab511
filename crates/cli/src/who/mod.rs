//! What `who` needs from elsewhere: exact counts by the counting vDSO of `run`. What must not live
//! here: what counts mean (`clocksmith_who::exact`), and how they look (`render`).

pub(crate) mod counter;
