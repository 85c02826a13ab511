//! Tests of the facts from outside, as one test program: each would be linked and run alone otherwise.
//! `cargo test -p clocksmith-facts --test it bundles::` runs a module.

mod beside_quotations;
mod bundles;
mod log_mutations;
mod log_pasted;
mod log_shapes;
mod log_windows;
mod log_wrapped;
mod pasted;
mod reprinted;
mod roots;
mod tarball;
