//! `vigie mail`: what sessions write each other.

use super::{
    Desk,
    args::Mail,
    failure::Failure,
    out::{Ink, Out},
    plain,
};
use crate::web::{client::segment, shapes::MailShape};

pub(super) async fn run(args: Mail, desk: &Desk) -> Result<(), Failure> {
    let path = path(&args);
    let found: Vec<MailShape> = desk.client.get(&path).await?;
    let more = found.last().filter(|_| found.len() >= args.most).map(|oldest| oldest.number);
    desk.out.show(&found, |out, found| words(out, found, more))
}

fn path(args: &Mail) -> String {
    let Mail { name, search, thread, before, most } = args;
    let text = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!("&{key}={}", segment(value)))
    };
    let before = before.map(|before| format!("&before={before}"));
    let rest = [text("with", name), text("words", search), text("thread", thread), before];
    format!("/mail?most={most}{}", rest.into_iter().flatten().collect::<String>())
}

/// As a chat shows it, the newest at the end.
fn words(out: &Out, found: &[MailShape], more: Option<u64>) -> String {
    if found.is_empty() {
        return "No messages.".into();
    }
    let older = more.map(|number| out.ink(Ink::Dim, &format!("older: --before {number}")));
    let all = found.iter().rev().map(|mail| message(out, mail));
    older.into_iter().chain(all).collect::<Vec<_>>().join("\n")
}

fn message(out: &Out, mail: &MailShape) -> String {
    let MailShape { number, from, to, text, sent, state, why, .. } = mail;
    let names = format!("{} → {}", plain::line(from), plain::line(to));
    let state = match (state.as_str(), why) {
        ("read", _) => String::new(),
        ("dead", Some(why)) => out.ink(Ink::Bad, &format!("  never read: {}", plain::line(why))),
        ("offered", _) => out.ink(Ink::Dim, "  on its way"),
        _ => out.ink(Ink::Wait, "  not read yet"),
    };
    let about = out.ink(Ink::Dim, &format!("{number}  {}", out.when(*sent)));
    let text = plain::lines(text.trim_end()).replace('\n', "\n    ");
    format!("{about}  {}{state}\n    {text}", out.ink(Ink::Bold, &names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use vigie_core::Timestamp;

    fn mail(number: u64, state: &str, text: &str) -> MailShape {
        MailShape {
            id: format!("mai_{number}"),
            number,
            from: "PD-285".into(),
            to: "PD-286".into(),
            text: text.into(),
            sent: Timestamp::default(),
            state: state.into(),
            why: (state == "dead").then(|| "it has ended".into()),
            thread: "mai_1".into(),
            reply_to: None,
        }
    }

    #[test]
    fn the_newest_stands_at_the_end_and_nothing_moves_the_cursor() {
        let out = Out::plain(Clock::fixed(Timestamp::default()));
        let all = [
            mail(4, "waiting", "second line\nof it\n"),
            mail(3, "offered", "\u{1b}[2Jgone"),
            mail(2, "dead", "never"),
            mail(1, "read", "hello"),
        ];
        insta::assert_snapshot!(words(&out, &all, Some(1)), @r"
        older: --before 1
        1  now  PD-285 → PD-286
            hello
        2  now  PD-285 → PD-286  never read: it has ended
            never
        3  now  PD-285 → PD-286  on its way
            ⟦U+001B⟧[2Jgone
        4  now  PD-285 → PD-286  not read yet
            second line
            of it
        ");
        assert_eq!(words(&out, &[], None), "No messages.");
    }

    #[test]
    fn what_is_looked_for_is_asked_whole() {
        let args = Mail {
            name: Some("PD-285".into()),
            search: Some("a&b=c".into()),
            thread: None,
            before: Some(7),
            most: 5,
        };
        assert_eq!(path(&args), "/mail?most=5&with=PD-285&words=a%26b%3Dc&before=7");
    }
}
