//! `vigie attach`: finds the session; the rest is between this terminal and its holder.

use std::path::Path;

use super::{
    Desk,
    attach::{Left, attach},
    failure::Failure,
    plain,
};
use crate::web::{client::segment, shapes::Folder};

pub(super) async fn run(name: &str, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/sessions/{}/folder", segment(name));
    let Folder { session, folder, live } = desk.client.get(&path).await?;
    if !live {
        let failure = Failure::refused("not_live", format!("{session} has ended"));
        return Err(
            failure.hint(format!("`vigie resume {session}` goes on with its conversation."))
        );
    }
    match attach(Path::new(&folder)).await {
        Ok(Left::Detached) => {
            desk.out.print(&format!("{session} goes on. `vigie attach {session}` shows it again."))
        }
        Ok(Left::Ended { last }) => {
            let last: Vec<String> = last.iter().map(|line| plain::line(line)).collect();
            desk.out.print(&format!("{}\n{session} has ended.", last.join("\n")))
        }
        Err(error) => Err(Failure::outside(format!("{error:#}"))),
    }
}
