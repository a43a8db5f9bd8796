//! `vigie stop`, `end`, `kill`, `resume`, `handover` and `retry`: one word each.

use std::path::Path;

use super::{Desk, failure::Failure, plain};
use crate::{
    hold::client::kill_folder,
    web::{
        client::segment,
        shapes::{Done, EndSession, Folder, HandOver, RetryAccount},
    },
};

pub(super) async fn run(name: &str, deed: &str, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/sessions/{}/{deed}", segment(name));
    let done: Done = match desk.client.post(&path, &serde_json::json!({})).await {
        Err(error) if deed == "kill" && error.is_not_written() => kill_here(name, desk).await?,
        answer => answer?,
    };
    desk.out.show(&done, |_, done| plain::line(&done.words))
}

pub(super) async fn end(name: &str, tree: bool, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/sessions/{}/end", segment(name));
    let done: Done = desk.client.post(&path, &EndSession { tree }).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}

pub(super) async fn hand_over(name: &str, agent: String, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/sessions/{}/handover", segment(name));
    let done: Done = desk.client.post(&path, &HandOver { agent }).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}

pub(super) async fn retry(account: Option<String>, desk: &Desk) -> Result<(), Failure> {
    let done: Done = desk.client.post("/accounts/retry", &RetryAccount { account }).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}

/// An agent that fills the disk can still be killed: its holder needs no row for that. The daemon
/// reads what became of it when it can write again.
async fn kill_here(name: &str, desk: &Desk) -> Result<Done, Failure> {
    let path = format!("/sessions/{}/folder", segment(name));
    let folder: Folder = desk.client.get(&path).await?;
    kill_folder(Path::new(&folder.folder)).await.map_err(Failure::outside)?;
    Ok(Done {
        words: format!(
            "{name} is killed, with all its processes. The disk takes nothing: make room."
        ),
    })
}
