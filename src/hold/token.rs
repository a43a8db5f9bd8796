//! The token with which a session's program speaks to Vigie: made anew at each start, known to that
//! program and what it starts, and to nobody else. Only its hash is reported.

use rand::{TryRngCore, rngs::OsRng};
use std::{
    fmt::{self, Write},
    io,
};
use vigie_core::caller::TokenHash;

/// 256 random bits, in hex.
pub(super) struct Token(String);

impl Token {
    /// # Errors
    /// When the system has no randomness to give.
    pub(super) fn mint() -> io::Result<Self> {
        let mut bytes = [0; 32];
        OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        let hex = bytes.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}"); // a String takes everything
            hex
        });
        Ok(Self(hex))
    }

    pub(super) fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }

    /// What tells the program; its environment is the one place where the token stands.
    pub(super) fn environment(self, url: &str) -> [(String, String); 2] {
        [("VIGIE_MCP_URL".into(), url.into()), ("VIGIE_MCP_TOKEN".into(), self.0)]
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_new_each_time_and_known_by_its_hash_alone() {
        let (one, other) = (Token::mint().unwrap(), Token::mint().unwrap());
        assert_ne!(one.hash(), other.hash());
        assert_eq!(format!("{one:?}"), "***");
        let hash = one.hash();
        let [(_, url), (_, token)] = one.environment("http://127.0.0.1:1/mcp");
        assert_eq!((url.as_str(), token.len()), ("http://127.0.0.1:1/mcp", 64));
        assert_eq!(TokenHash::of(&token), hash);
    }
}
