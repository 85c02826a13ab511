//! What facts are read from.
