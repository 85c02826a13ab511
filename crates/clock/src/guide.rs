//! How it works, and which function to call.

/// Which function do I call?
pub mod which_function {}
/// Why each layer is sound.
pub mod design {}
