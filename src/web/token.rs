//! Secrets that are shown once and kept as hashes.

use rand::{TryRngCore, rngs::OsRng};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use subtle::ConstantTimeEq;

/// SHA-256 of a secret. The secrets are random, so nothing slower is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash([u8; 32]);

impl Hash {
    pub(super) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    pub(super) fn hex(&self) -> String {
        hex(&self.0)
    }

    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// The system has no randomness to give; nothing secret can be made.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random numbers: {0}")]
pub(super) struct NoRandomness(#[from] rand::rand_core::OsError);

/// 256 random bits in hex: what a browser keeps.
pub(super) fn cookie() -> Result<String, NoRandomness> {
    Ok(hex(&random::<32>()?))
}

/// 256 random bits in hex, and in front what shows people and scanners what it is: what a program
/// outside of every session speaks with.
pub(super) fn client() -> Result<String, NoRandomness> {
    Ok(format!("vgt_{}", hex(&random::<32>()?)))
}

/// A short name for a login, not a secret.
pub(super) fn login_id() -> Result<String, NoRandomness> {
    Ok(hex(&random::<4>()?))
}

/// Crockford's base 32 in lower case: no `i l o u`, so that nothing is misread.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 80 random bits in four groups a person can type: `k7q2-m4xd-t9hw-w6cp`. Valid for minutes, and
/// wrong tries are counted, so that many bits are plenty.
pub(super) fn code() -> Result<String, NoRandomness> {
    let letters = random::<16>()?.map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
    Ok(groups.join("-"))
}

/// What a person meant by what they typed: any case, any dashes, the misreadable ones repaired.
pub(super) fn normal(typed: &str) -> String {
    let letters = typed.chars().filter(char::is_ascii_alphanumeric);
    letters
        .map(|c| match c.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        })
        .collect()
}

fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    OsRng.try_fill_bytes(&mut bytes)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a String takes everything
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        let code = code().unwrap();
        assert_eq!(code.len(), 19);
        assert_eq!(normal(&code.to_uppercase().replace('-', " ")), normal(&code));
        assert_eq!(normal("OIL"), "011");
    }

    #[test]
    fn a_hash_reads_back_as_itself() {
        let hash = Hash::of("k7q2");
        assert!(Hash::from_hex(&hash.hex()).unwrap().is(&hash));
        assert!(Hash::from_hex("zz").is_none());
        assert!(Hash::from_hex(&"é".repeat(32)).is_none());
    }
}
