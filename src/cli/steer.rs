//! `vigie stop`, `end`, `kill` and `resume`: one word each.

use super::{Desk, failure::Failure, plain};
use crate::web::{client::segment, shapes::Done};

pub(super) async fn run(name: &str, deed: &str, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/sessions/{}/{deed}", segment(name));
    let done: Done = desk.client.post(&path, &serde_json::json!({})).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}
