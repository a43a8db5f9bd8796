//! x
#![cfg(feature = "matrix")]
#[test]
fn nothing() {}
