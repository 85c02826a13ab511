//! Tests of the judgement from outside, as one test program: each would be linked and run alone otherwise.
//! `cargo test -p clocksmith-diagnose --test it width::` runs a module.

mod arm_vdso;
mod cases;
mod claims;
mod common;
mod counter_alone;
mod doubtful_lines;
mod early_words;
mod evidence_bounds;
mod excerpts;
mod less_evidence;
mod log_ends;
mod log_table;
mod lost_lines;
mod marked_tsc;
mod measured;
mod names_of_boards;
mod no_more_than_evidence;
mod old_kernels;
mod one_interval;
mod other_machine;
mod parts_of_logs;
mod remedies_that_help;
mod says_what_it_knows;
mod seed_machines;
mod sentences;
mod told_by_servers;
mod unusual_boots;
mod wall_texts;
mod watchdog_figures;
mod watchdog_machines;
mod watchdog_tests;
mod what_was_looked_at;
mod width;
mod witnesses;
mod written_later;
