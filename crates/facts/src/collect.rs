//! From a tree to facts.
