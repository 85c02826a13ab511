//! clocksmith.
fn main() {}
