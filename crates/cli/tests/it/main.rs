//! Tests of the program from outside, as one test program: each would be linked and run alone otherwise.
//! `cargo test -p clocksmith-cli --test it fix::` runs a module.

mod agreement;
mod bad_input;
mod bench;
mod book;
mod check;
mod collect;
mod executable;
mod first_look;
mod fix;
mod fix_loaders;
mod fleet;
mod full;
mod fuse;
mod html;
mod limits;
mod memory;
mod pasted;
mod policy;
mod run;
mod schemas;
mod signals;
mod verify;
mod vm;
mod wall_prose;
mod watch;
mod who;
mod who_run;
mod who_select;
mod who_waits;
