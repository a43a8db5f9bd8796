//! `vigie undelivered`.

use super::{
    Desk,
    failure::Failure,
    out::{Ink, Out},
    plain,
};
use crate::web::{
    client::segment,
    shapes::{Done, UndeliveredShape},
};

pub(super) async fn list(desk: &Desk) -> Result<(), Failure> {
    let all: Vec<UndeliveredShape> = desk.client.get("/undelivered").await?;
    desk.out.show(&all, |out, all| words(out, all))
}

fn words(out: &Out, all: &[UndeliveredShape]) -> String {
    if all.is_empty() {
        return "Nothing: whatever was said has arrived or is on its way.".into();
    }
    let line = |each: &UndeliveredShape| {
        let words = out.ink(Ink::Bad, &plain::line(&each.words));
        format!("{}  {words}, {}", each.id, out.when(each.at))
    };
    let mut lines: Vec<_> = all.iter().map(line).collect();
    lines.push(out.ink(Ink::Dim, "Try one again: vigie undelivered retry ID"));
    lines.join("\n")
}

pub(super) async fn retry(id: &str, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/undelivered/{}/retry", segment(id));
    let done: Done = desk.client.post(&path, &()).await?;
    desk.out.show(&done, |_, done| done.words.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn what_did_not_arrive_is_listed_with_the_way_to_try_again() {
        let out = Out::plain(Clock::system());
        assert!(words(&out, &[]).starts_with("Nothing:"));
        let failed = UndeliveredShape {
            id: "dlv_1".into(),
            words: "A message about PD-285 did not reach telegram: \u{1b}[2Jtoo strange".into(),
            bridge: "telegram".into(),
            session: None,
            at: chrono::DateTime::UNIX_EPOCH,
        };
        let said = words(&out, &[failed]);
        assert!(said.starts_with("dlv_1  A message about PD-285"), "{said}");
        assert!(said.ends_with("vigie undelivered retry ID") && !said.contains('\u{1b}'), "{said}");
    }
}
