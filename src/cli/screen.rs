//! `vigie screen`.

use super::{Desk, failure::Failure, plain};
use crate::web::{client::segment, shapes::Screen};

pub(super) async fn run(name: &str, desk: &Desk) -> Result<(), Failure> {
    let screen: Screen = desk.client.get(&format!("/sessions/{}/screen", segment(name))).await?;
    desk.out.show(&screen, |_, screen| {
        let lines: Vec<String> = screen.lines.iter().map(|line| plain::line(line)).collect();
        lines.join("\n")
    })
}
