//! `vigie digest`, `mute` and `unmute`.

use super::{Desk, failure::Failure, plain};
use crate::web::{
    client::segment,
    shapes::{Done, MuteSession},
};

pub(super) async fn digest(desk: &Desk) -> Result<(), Failure> {
    say(&desk.client.get("/digest").await?, desk)
}

pub(super) async fn mutes(desk: &Desk) -> Result<(), Failure> {
    say(&desk.client.get("/mutes").await?, desk)
}

pub(super) async fn mute(session: String, time: String, desk: &Desk) -> Result<(), Failure> {
    let mute = MuteSession { session, time: Some(time) };
    say(&desk.client.post("/mutes", &mute).await?, desk)
}

pub(super) async fn unmute(name: &str, desk: &Desk) -> Result<(), Failure> {
    say(&desk.client.delete(&format!("/mutes/{}", segment(name))).await?, desk)
}

fn say(done: &Done, desk: &Desk) -> Result<(), Failure> {
    desk.out.show(done, |_, done| plain::lines(&done.words))
}
