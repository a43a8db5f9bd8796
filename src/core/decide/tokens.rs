//! Tokens of programs outside of every session: made and revoked by people, at the desk.

use serde_json::json;
use std::collections::BTreeSet;

use super::{About, Work};
use crate::{
    caller::{TokenHash, TokenRow, TokenScope},
    command::{Refusal, Reply},
    id::{HumanId, TokenId},
    state::Row,
};

/// Longest name of a token; it stands in lists and beside messages.
const LONGEST_NAME: usize = 40;

impl Work<'_> {
    pub(super) fn add_token(
        &mut self,
        by: &HumanId,
        name: &str,
        hash: TokenHash,
        scopes: BTreeSet<TokenScope>,
    ) -> Result<Reply, Refusal> {
        let name = name.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(fits) {
            return Err(Refusal::BadName(format!(
                "`{name}` cannot name a token: use letters, digits, `-`, `_` and `.`, at most {LONGEST_NAME}"
            )));
        }
        if self.token_named(name).is_some() {
            return Err(Refusal::TokenExists { name: name.into() });
        }
        let token = TokenRow {
            id: self.ids.make(TokenId::from_parts),
            name: name.into(),
            hash,
            scopes,
            by: by.clone(),
            made: self.now,
            revoked: None,
        };
        self.put(Row::Token(token.clone()));
        self.journal_token("token_made", by, &token);
        Ok(Reply::Tokens(vec![token]))
    }

    /// Ends a token at once; its mail and tickets stay readable for people.
    pub(super) fn revoke_token(&mut self, by: &HumanId, name: &str) -> Result<Reply, Refusal> {
        let Some(mut token) = self.token_named(name.trim()).cloned() else {
            let valid = self.state.tokens.values().filter(|token| token.revoked.is_none());
            let known = valid.map(|token| token.name.clone()).collect();
            return Err(Refusal::NoToken { name: name.into(), known });
        };
        token.revoked = Some(self.now);
        self.put(Row::Token(token.clone()));
        self.journal_token("token_revoked", by, &token);
        Ok(Reply::Done { words: format!("The token {} is over.", token.name) })
    }

    fn token_named(&self, name: &str) -> Option<&TokenRow> {
        let mut valid = self.state.tokens.values().filter(|token| token.revoked.is_none());
        valid.find(|token| token.name.eq_ignore_ascii_case(name))
    }

    fn journal_token(&mut self, kind: &str, by: &HumanId, token: &TokenRow) {
        let about = About { human: Some(by.clone()), ..About::default() };
        self.journal(kind, about, json!({ "token": token.id, "name": token.name }));
    }
}
