//! `vigie answer`.

use super::{Desk, failure::Failure, plain};
use crate::web::{
    client::segment,
    shapes::{AnswerGate, Done},
};

pub(super) async fn run(code: &str, choice: &[String], desk: &Desk) -> Result<(), Failure> {
    let path = format!("/waiting/{}/answer", segment(code));
    let done: Done = desk.client.post(&path, &AnswerGate { choice: choice.join(" ") }).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}
