//! `vigie token`: programs outside of every session that may use Vigie's tools.

use std::collections::BTreeSet;
use vigie_core::caller::TokenScope;

use super::{
    Desk,
    args::{NewClient, Token},
    failure::Failure,
    kept,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::web::{
    client::segment,
    shapes::{Done, MadeToken, NewToken, TokenShape},
};

pub(super) async fn run(token: Token, desk: &Desk) -> Result<(), Failure> {
    match token {
        Token::Create(NewClient { name, scope }) => create(name, scope, desk).await,
        Token::List => list(desk).await,
        Token::Revoke { name } => revoke(&name, desk).await,
    }
}

/// The secret stands on standard output alone, so that it can be piped where it belongs.
async fn create(name: String, scopes: Vec<TokenScope>, desk: &Desk) -> Result<(), Failure> {
    let scopes = (!scopes.is_empty()).then(|| scopes.into_iter().collect());
    let made: MadeToken = desk.client.post("/tokens", &NewToken { name, scopes }).await?;
    desk.out.show(&made, |_, made| made.token.clone())?;
    let TokenShape { name, scopes, .. } = &made.about;
    let name = plain::line(name);
    desk.out.beside(&[
        format!("The token {name} is good for: {}. It is shown this once.", words(scopes)),
        format!("Programs send it to {} as `Authorization: Bearer …`.", made.url),
        format!("vigie token revoke {name}   ends it"),
    ]);
    Ok(())
}

async fn list(desk: &Desk) -> Result<(), Failure> {
    let tokens: Vec<TokenShape> = desk.client.get("/tokens").await?;
    desk.out.show(&tokens, |out, tokens| {
        if tokens.is_empty() {
            return "No program has a token. Make one: vigie token create NAME".into();
        }
        table(&tokens.iter().map(|token| row(out, token)).collect::<Vec<_>>())
    })
}

fn row(out: &Out, token: &TokenShape) -> Vec<Cell> {
    let TokenShape { name, scopes, by, made, .. } = token;
    vec![
        Cell::inked(out, Ink::Bold, plain::line(name)),
        Cell::plain(words(scopes)),
        Cell::inked(out, Ink::Dim, format!("by {}, {}", plain::line(by), out.when(*made))),
    ]
}

fn words(scopes: &BTreeSet<TokenScope>) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

async fn revoke(name: &str, desk: &Desk) -> Result<(), Failure> {
    let done: Done = desk.client.delete(&format!("/tokens/{}", segment(name))).await?;
    // What is over need not lie about; if it cannot be removed, it opens nothing any more.
    let _ = kept::forget(&kept::file(&desk.around.data, name.trim()));
    desk.out.show(&done, |_, done| plain::line(&done.words))
}
