//! `vigie new`.

use super::{Desk, args::New, failure::Failure};
use crate::web::shapes::{NewSession, SessionShape};

pub(super) async fn run(args: New, desk: &Desk) -> Result<(), Failure> {
    let New { name, project, agent, title, isolated, prompt } = args;
    let prompt = (!prompt.is_empty()).then(|| prompt.join(" "));
    let new = NewSession { name, title, project, agent, prompt, isolated };
    let made: SessionShape = desk.client.post("/sessions", &new).await?;
    desk.out.show(&made, |_, made| {
        let SessionShape { name, project, agent, .. } = made;
        format!("{name} starts: {agent} in {project}\n  vigie attach {name}   shows it here")
    })
}
