//! `vigie matrix accept`: another identity than before, looked at and taken.

use super::{Desk, Failure, Out, in_fours, plain, terminal};
use crate::{
    cli::out::{Cell, Ink, table},
    web::{
        client::segment,
        shapes::{AcceptIdentity, Done, MatrixPersonShape, MatrixShape},
    },
};

pub(super) async fn run(user: &str, desk: &Desk) -> Result<(), Failure> {
    terminal::needed("taking another identity for somebody's")?;
    let account: MatrixShape = desk.client.get("/matrix").await?;
    let person = account.people.into_iter().find(|person| person.user == user);
    let person = person.ok_or_else(|| {
        let words = format!("Vigie does not know {} on Matrix", plain::line(user));
        Failure::refused("not_on_matrix", words).hint("Whom it knows: vigie matrix status.")
    })?;
    let Some(identity) = person.identity.clone().filter(|_| is_another(&person)) else {
        let words = format!("{}'s identity is the one that Vigie knows", plain::line(user));
        return Err(Failure::refused("not_now", words)
            .hint("Nothing is to be accepted. See: vigie matrix status."));
    };
    desk.out.print(&both(&desk.out, &person))?;
    let question = format!(
        "Somebody else may speak as {} now: ask them in person whether they set their encryption \
         up anew. Take the new one?",
        plain::line(user)
    );
    if terminal::ask(&question, &desk.out).await? != terminal::Answer::Yes {
        return Err(Failure::refused("not_accepted", "nothing was changed"));
    }
    let path = format!("/matrix/people/{}/accept", segment(user));
    let done: Done = desk.client.post(&path, &AcceptIdentity { identity }).await?;
    desk.out.show(&done, |_: &Out, done| plain::line(&done.words))
}

fn is_another(person: &MatrixPersonShape) -> bool {
    matches!(person.standing.as_str(), "changed" | "renewed")
}

/// Both identities, one below the other.
fn both(out: &Out, person: &MatrixPersonShape) -> String {
    let key = |key: &Option<String>| key.as_deref().map_or_else(|| "not known".into(), in_fours);
    let row = |name: &str, value: String| {
        vec![Cell::inked(out, Ink::Dim, name), Cell::inked(out, Ink::Bold, value)]
    };
    let keys = table(&[row("until now", key(&person.known)), row("now", key(&person.identity))]);
    format!("The identity of {}:\n\n{keys}\n", plain::line(&person.user))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn the_two_stand_one_below_the_other_in_groups() {
        let person = MatrixPersonShape {
            user: "@ines:example.org".into(),
            standing: "renewed".into(),
            identity: Some("Yc9R1LdQnX".into()),
            known: Some("Xb8Qk3cPmW".into()),
            unsigned: Vec::new(),
        };
        insta::assert_snapshot!(both(&Out::plain(Clock::system()), &person), @r"
        The identity of @ines:example.org:

        until now  Xb8Q k3cP mW
        now        Yc9R 1LdQ nX
        ");
    }
}
