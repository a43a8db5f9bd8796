//! Where Synapse and the phone are.

use std::{env, path::PathBuf};

/// The two environments of Python.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The Python that has Synapse.
    pub synapse: PathBuf,
    /// The Python that has what the phone needs.
    pub phone: PathBuf,
}

/// Both environments; or nothing and a word on why, since a test that does not run has to say so.
///
/// # Panics
/// On a build server, where nobody would read that word.
#[expect(clippy::print_stderr, reason = "a test that does not run has to say so")]
pub fn tools() -> Option<Tools> {
    let python = |name| env::var_os(name).map(|folder| PathBuf::from(folder).join("bin/python"));
    let (synapse, phone) = (python("VIGIE_TEST_SYNAPSE"), python("VIGIE_TEST_MATRIX_PHONE"));
    if let (Some(synapse), Some(phone)) = (synapse, phone) {
        return Some(Tools { synapse, phone });
    }
    let why = "not run: VIGIE_TEST_SYNAPSE and VIGIE_TEST_MATRIX_PHONE do not name a homeserver and a phone; \
               `cargo xtask test` sets them";
    assert!(env::var_os("CI").is_none(), "{why}");
    eprintln!("{why}");
    None
}
