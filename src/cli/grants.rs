//! `vigie grants`: what was allowed for longer than one request.

use super::{
    Desk,
    failure::Failure,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::web::shapes::{Done, GrantShape};

#[derive(Debug, clap::Subcommand)]
pub enum GrantsDo {
    /// Take one back
    Revoke {
        /// As `vigie grants` shows it
        number: u64,
    },
}

pub(super) async fn run(what: Option<GrantsDo>, desk: &Desk) -> Result<(), Failure> {
    match what {
        None => list(desk).await,
        Some(GrantsDo::Revoke { number }) => {
            let done: Done = desk.client.delete(&format!("/grants/{number}")).await?;
            desk.out.show(&done, |_, done| plain::line(&done.words))
        }
    }
}

async fn list(desk: &Desk) -> Result<(), Failure> {
    let grants: Vec<GrantShape> = desk.client.get("/grants").await?;
    desk.out.show(&grants, |out, grants| {
        if grants.is_empty() {
            return "No grant holds: every request is asked about, but for what policies say."
                .into();
        }
        table(&grants.iter().map(|grant| row(out, grant)).collect::<Vec<_>>())
    })
}

fn row(out: &Out, grant: &GrantShape) -> Vec<Cell> {
    let until = match grant.until {
        Some(until) => format!("until {}", out.until(until)),
        None => "until it ends".into(),
    };
    vec![
        Cell::inked(out, Ink::Bold, grant.number.to_string()),
        Cell::plain(plain::line(&grant.allows)),
        Cell::plain(format!("{}, {until}", plain::line(&grant.holds_for))),
        Cell::inked(
            out,
            Ink::Dim,
            format!("by {}, {}", plain::line(&grant.by), out.when(grant.at)),
        ),
        if grant.counts {
            Cell::plain(String::new())
        } else {
            Cell::inked(out, Ink::Bad, "counts for nothing: may no longer approve".to_owned())
        },
    ]
}
