//! `vigie matrix verify`: a person compares what the phone shows with what stands here.

use std::{
    future::{Future, pending},
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    Desk, Failure, Out, plain,
    terminal::{self, Answer},
};
use crate::{
    cli::out::{Format, Ink},
    web::{
        client::{ClientError, segment},
        shapes::{
            ConfirmVerification, MatrixShape, NewVerification, VerificationBegun,
            VerificationShape, VerificationState,
        },
    },
};

/// How often the daemon is asked how far it is.
const LOOK_AGAIN: Duration = Duration::from_millis(400);

const ALL: &str = "/matrix/verifications";

pub(super) async fn run(user: Option<String>, desk: &Desk) -> Result<(), Failure> {
    let all: Vec<VerificationShape> = match desk.out.format() {
        // What is there, for programs; a person goes on.
        Format::Json => {
            let all: Vec<VerificationShape> = desk.client.get(ALL).await?;
            return desk.out.show(&all, |_, _| String::new());
        }
        Format::Words => {
            terminal::needed("comparing emoji")?;
            desk.client.get(ALL).await?
        }
    };
    let open = all.into_iter().filter(is_open);
    let open = open.filter(|each| user.as_ref().is_none_or(|user| *user == each.user));
    let taken = match choose(open.collect(), "Which one?", who_asks, &desk.out).await? {
        Some(asked) => take(asked, desk).await?,
        None => begin(user, desk).await?,
    };
    let id = taken.id.clone();
    if let Some(ended) = or_interrupt(carry(taken, desk)).await {
        return ended;
    }
    step(&id, "cancel", desk).await?;
    Err(Failure::refused("cancelled", "cancelled; nothing was verified"))
}

fn is_open(each: &VerificationShape) -> bool {
    match each.state {
        VerificationState::Asked
        | VerificationState::Waiting
        | VerificationState::Comparing
        | VerificationState::Confirmed => true,
        VerificationState::Verified | VerificationState::Failed => false,
    }
}

/// `None` when Ctrl-C comes first.
async fn or_interrupt<T>(work: impl Future<Output = T>) -> Option<T> {
    // Before the work asks anything: until somebody listens, a Ctrl-C ends the program at once.
    let interrupts = signal(SignalKind::interrupt());
    let interrupted = async {
        match interrupts {
            Ok(mut interrupts) => interrupts.recv().await,
            Err(_) => pending().await,
        }
    };
    tokio::select! {
        done = work => Some(done),
        _ = interrupted => None,
    }
}

/// One of them: the only one, or the one that a person picks.
async fn choose<T>(
    mut all: Vec<T>,
    question: &str,
    words: fn(&T) -> String,
    out: &Out,
) -> Result<Option<T>, Failure> {
    if all.len() < 2 {
        return Ok(all.pop());
    }
    for (number, each) in all.iter().enumerate() {
        out.print(&format!("{}. {}", number + 1, words(each)))?;
    }
    loop {
        out.print(&format!("{question} [1-{}]", all.len()))?;
        let Some(line) = terminal::line().await else {
            return Err(Failure::refused("cancelled", "nothing was chosen"));
        };
        let number = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(number) = number.filter(|number| *number < all.len()) {
            return Ok(Some(all.swap_remove(number)));
        }
    }
}

fn who_asks(each: &VerificationShape) -> String {
    let user = plain::line(&each.user);
    let name = each.device_name.as_deref().map(|name| format!(" (\"{}\")", plain::line(name)));
    let name = name.unwrap_or_default();
    let device = each.device.as_deref().map(|id| format!(", device {}{name}", plain::line(id)));
    let device = device.unwrap_or_default();
    match each.begun {
        VerificationBegun::ByThem => format!("{user}{device} asks to be verified."),
        VerificationBegun::AtTheDesk => format!("{user}{device} was asked from here."),
    }
}

/// Takes what waits, once a person says that they know of it.
async fn take(asked: VerificationShape, desk: &Desk) -> Result<VerificationShape, Failure> {
    desk.out.print(&who_asks(&asked))?;
    if asked.state != VerificationState::Asked {
        return Ok(asked);
    }
    let question = "Is that phone at hand, and was it you or somebody you speak to now? Take it?";
    match terminal::ask(question, &desk.out).await? {
        Answer::Yes => Ok(step(&asked.id, "accept", desk).await?),
        Answer::No | Answer::Unclear | Answer::End => {
            let failure = Failure::refused("left", "it was left alone, and nothing was answered");
            Err(failure.hint("It ends by itself after ten minutes."))
        }
    }
}

/// Asks somebody, who is chosen where it is not plain.
async fn begin(user: Option<String>, desk: &Desk) -> Result<VerificationShape, Failure> {
    let user = match user {
        Some(user) => user,
        None => whom(desk).await?,
    };
    let words = format!("Asking {}. Accept it on the phone.", plain::line(&user));
    let begun = desk.client.post(ALL, &NewVerification { user }).await?;
    desk.out.print(&words)?;
    Ok(begun)
}

async fn whom(desk: &Desk) -> Result<String, Failure> {
    let account: MatrixShape = desk.client.get("/matrix").await?;
    let people = account.people.into_iter().map(|person| person.user).collect();
    let chosen = choose(people, "Whom?", |user: &String| plain::line(user), &desk.out).await?;
    chosen.ok_or_else(|| {
        Failure::usage("nobody asks to be verified, and nobody is known on Matrix yet")
            .hint("Say whom: vigie matrix verify @name:example.org. Or begin on the phone.")
    })
}

/// Until it is over, with a person's answer in between.
async fn carry(mut now: VerificationShape, desk: &Desk) -> Result<(), Failure> {
    let mut told = None;
    loop {
        if told != Some(now.state) {
            told = Some(now.state);
            match now.state {
                VerificationState::Verified => return desk.out.print(&outcome(&now)),
                VerificationState::Failed => return Err(failure(&now)),
                VerificationState::Asked | VerificationState::Waiting => {
                    desk.out.print("Waiting for the phone ...")?;
                }
                VerificationState::Comparing => now = compare(&now, desk).await?,
                VerificationState::Confirmed => {
                    desk.out.print("Waiting until the phone says so too ...")?;
                }
            }
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        now = look(&now.id, desk).await?;
    }
}

async fn look(id: &str, desk: &Desk) -> Result<VerificationShape, ClientError> {
    desk.client.get(&format!("{ALL}/{}", segment(id))).await
}

async fn step(id: &str, what: &str, desk: &Desk) -> Result<VerificationShape, ClientError> {
    desk.client.post(&format!("{ALL}/{}/{what}", segment(id)), &()).await
}

/// Shows it, and does what the person says; the phone may end it meanwhile.
async fn compare(now: &VerificationShape, desk: &Desk) -> Result<VerificationShape, Failure> {
    desk.out.print(&shown(&desk.out, now))?;
    let answered = terminal::ask("The same, in this order?", &desk.out);
    let answer = tokio::select! {
        answer = answered => answer?,
        other = until_over(&now.id, desk) => return other,
    };
    let done = match answer {
        Answer::Yes => {
            let path = format!("{ALL}/{}/confirm", segment(&now.id));
            desk.client.post(&path, &ConfirmVerification { same: spoken(now) }).await
        }
        Answer::No => step(&now.id, "mismatch", desk).await,
        Answer::Unclear | Answer::End => step(&now.id, "cancel", desk).await,
    };
    Ok(done?)
}

async fn until_over(id: &str, desk: &Desk) -> Result<VerificationShape, Failure> {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        let now = look(id, desk).await?;
        if !is_open(&now) {
            return Ok(now);
        }
    }
}

/// What says that it is the same: what stood here, repeated.
fn spoken(now: &VerificationShape) -> Vec<String> {
    if now.emoji.is_empty() {
        return now.decimals.iter().flatten().map(ToString::to_string).collect();
    }
    now.emoji.iter().map(|emoji| emoji.name.clone()).collect()
}

fn shown(out: &Out, now: &VerificationShape) -> String {
    let user = plain::line(&now.user);
    if now.emoji.is_empty() {
        let numbers = spoken(now).join("  ");
        let numbers = out.ink(Ink::Bold, &numbers);
        return format!("The phone of {user} should show these three numbers:\n\n    {numbers}\n");
    }
    let lines: Vec<_> = now
        .emoji
        .iter()
        .map(|emoji| {
            format!("    {}  {}", emoji.symbol, out.ink(Ink::Bold, &plain::line(&emoji.name)))
        })
        .collect();
    format!(
        "The phone of {user} should show these seven emoji in this order:\n\n{}\n\nThe pictures count; their names differ from app to app. There is one minute for it.",
        lines.join("\n")
    )
}

fn outcome(now: &VerificationShape) -> String {
    let words = now.words.clone().unwrap_or_else(|| "It is over.".into());
    plain::line(&words)
}

fn failure(now: &VerificationShape) -> Failure {
    let failure = Failure::refused("not_verified", outcome(now).trim_end_matches('.'));
    match &now.hint {
        Some(hint) => failure.hint(plain::line(hint)),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Clock, web::shapes::EmojiShape};

    fn verification(state: VerificationState) -> VerificationShape {
        let at = Clock::system().now();
        VerificationShape {
            id: "ver_1".into(),
            user: "@ines:example.org".into(),
            device: Some("PHONE".into()),
            device_name: Some("Ines\u{202e} \u{1b}[2Jphone".into()),
            begun: VerificationBegun::ByThem,
            since: at,
            until: at,
            state,
            emoji: Vec::new(),
            decimals: Some([1, 22, 333]),
            words: None,
            hint: None,
        }
    }

    #[test]
    fn who_asks_cannot_paint_the_terminal() {
        insta::assert_snapshot!(
            who_asks(&verification(VerificationState::Asked)),
            @r#"@ines:example.org, device PHONE ("Ines⟦U+202E⟧ ⟦U+001B⟧[2Jphone") asks to be verified."#
        );
    }

    #[test]
    fn emoji_stand_in_their_order_with_their_names() {
        let mut now = verification(VerificationState::Comparing);
        let emoji = [("🐶", "Dog"), ("🔒", "Lock"), ("🐷", "Pig")];
        now.emoji = emoji
            .map(|(symbol, name)| EmojiShape { symbol: symbol.into(), name: name.into() })
            .into();
        insta::assert_snapshot!(shown(&Out::plain(Clock::system()), &now), @r"
        The phone of @ines:example.org should show these seven emoji in this order:

            🐶  Dog
            🔒  Lock
            🐷  Pig

        The pictures count; their names differ from app to app. There is one minute for it.
        ");
        assert_eq!(spoken(&now), ["Dog", "Lock", "Pig"]);
    }

    #[test]
    fn numbers_are_compared_where_there_are_no_emoji() {
        let now = verification(VerificationState::Comparing);
        assert!(shown(&Out::plain(Clock::system()), &now).contains("1  22  333"));
        assert_eq!(spoken(&now), ["1", "22", "333"]);
    }

    #[test]
    fn how_it_ended_is_said_with_what_to_do() {
        let mut now = verification(VerificationState::Failed);
        now.words = Some("Nothing was verified: it was cancelled at the other end.".into());
        now.hint = Some("Again: vigie matrix verify, or from the phone.".into());
        let failure = failure(&now);
        insta::assert_snapshot!(
            format!("{}\n  {}", failure.words, failure.hint.unwrap_or_default()),
            @r"
        Nothing was verified: it was cancelled at the other end
          Again: vigie matrix verify, or from the phone.
        "
        );
    }
}
