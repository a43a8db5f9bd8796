//! Vigie's own slash commands in a chat.

use crate::nearest::nearest;

/// What a text that begins with a slash asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    /// A command of Vigie's, and the rest of the line.
    Vigie(Name, String),
    /// `//compact`: the agent's own `/compact`, meant as such.
    Agent(String),
    /// `/approve K7Q2`: an answer, written as a command because some groups let nothing else through.
    Answer(String),
    /// One word that is no command, and the one it may stand for.
    Unknown { typed: String, meant: Option<&'static str> },
    /// A text like any other (`/tmp/x is full`).
    Text,
    /// `\/status`: words for an agent that only begin like a command.
    Words(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// About sessions, one by one.
    Session(OfSession),
    /// About runs of workflows.
    Run(OfRun),
    Help,
    Sessions,
    Status,
    Waiting,
    New,
    File,
    HandOver,
    Digest,
    Mute,
    Unmute,
    Cost,
    Budget,
    Grants,
    Revoke,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfSession {
    Stop,
    End,
    Kill,
    Resume,
    Focus,
    Screen,
    Diff,
    Transcript,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfRun {
    Run,
    Runs,
    Cancel,
    Retry,
}

impl Name {
    /// How it is written, without its slash.
    pub(super) fn word(self) -> &'static str {
        COMMANDS.iter().find(|(_, name, _)| *name == self).map_or("help", |(word, ..)| word)
    }
}

/// Words that answer what waits, also with a slash before them.
const ANSWERS: [&str; 3] = ["approve", "deny", "back"];

/// Every command: its word, what it stands for, and what the help says.
pub(super) const COMMANDS: &[(&str, Name, &str)] = &[
    ("sessions", Name::Sessions, "what runs"),
    ("waiting", Name::Waiting, "what waits for you"),
    ("status", Name::Status, "sessions, what waits, what did not arrive"),
    ("new", Name::New, "NAME what to do: start a session"),
    ("stop", Name::Session(OfSession::Stop), "NAME: interrupt its turn; its context is kept"),
    (
        "end",
        Name::Session(OfSession::End),
        "NAME: end the session; it can be resumed. NAME tree: and all started below it",
    ),
    ("kill", Name::Session(OfSession::Kill), "NAME: end it at once, with all its processes"),
    ("resume", Name::Session(OfSession::Resume), "NAME: go on with its conversation"),
    ("focus", Name::Session(OfSession::Focus), "NAME or off: where words without an address go"),
    ("screen", Name::Session(OfSession::Screen), "NAME: what its terminal shows"),
    ("diff", Name::Session(OfSession::Diff), "NAME: what changed in its folder"),
    ("transcript", Name::Session(OfSession::Transcript), "NAME: its conversation, as a document"),
    ("file", Name::File, "NAME PATH: a file of its folder"),
    ("run", Name::Run(OfRun::Run), "NAME name=value: start a workflow; alone: what can be run"),
    ("runs", Name::Run(OfRun::Runs), "what workflows do and did"),
    ("cancel", Name::Run(OfRun::Cancel), "NAME: end a run, such as release-12"),
    (
        "retry",
        Name::Run(OfRun::Retry),
        "NAME [STEP]: run again what failed, or that step and what needs it. ACCOUNT: try an account again that is stopped",
    ),
    ("handover", Name::HandOver, "NAME AGENT: another agent goes on with the story"),
    ("grants", Name::Grants, "what was allowed for longer"),
    ("revoke", Name::Revoke, "NUMBER: take back what was allowed for longer"),
    ("digest", Name::Digest, "what happened since the last one, and what waits"),
    ("mute", Name::Mute, "NAME 2h: keep a session from ringing for you; alone: what is muted"),
    ("unmute", Name::Unmute, "NAME: let it ring again"),
    ("cost", Name::Cost, "[NAME]: what was spent, and may be"),
    ("budget", Name::Budget, "NAME 5: what a session or story may cost; or more, none, usual"),
    ("help", Name::Help, "this list"),
    ("start", Name::Help, "this list"),
];

pub(super) fn parse(text: &str) -> Slash {
    let text = text.trim();
    if let Some(words) = text.strip_prefix('\\').filter(|rest| rest.starts_with(['/', '!'])) {
        return Slash::Words(words.to_owned());
    }
    if let Some(command) =
        text.strip_prefix("//").filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        return Slash::Agent(format!("/{command}"));
    }
    let Some(rest) = text.strip_prefix('/') else { return Slash::Text };
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Some((_, name, _)) = COMMANDS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(word))
    {
        return Slash::Vigie(*name, arguments.trim().to_owned());
    }
    if ANSWERS.iter().any(|answer| answer.eq_ignore_ascii_case(word)) {
        return Slash::Answer(rest.trim().to_owned());
    }
    // A path has more slashes, and a sentence more words; only a lone word is meant as a command.
    let lone =
        word.chars().all(|c| c.is_ascii_alphabetic()) && arguments.split_whitespace().count() <= 1;
    if !lone || word.is_empty() {
        return Slash::Text;
    }
    let meant = nearest(word, COMMANDS.iter().map(|(known, ..)| *known), 1).first().copied();
    Slash::Unknown { typed: word.into(), meant }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_menu_offers_every_command_and_nothing_else() {
        let mut offered: Vec<_> = crate::menu::MENU.iter().map(|entry| entry.word).collect();
        // How a chat with a bot begins; nobody looks for it in a menu.
        let commands = COMMANDS.iter().map(|(word, ..)| *word).filter(|word| *word != "start");
        let mut known: Vec<_> = commands.chain(ANSWERS).collect();
        offered.sort_unstable();
        known.sort_unstable();
        assert_eq!(offered, known);
    }

    #[test]
    fn a_path_is_text_and_a_slip_is_caught() {
        assert_eq!(parse("/tmp/x is full, look"), Slash::Text);
        assert_eq!(
            parse("/stop PD-285"),
            Slash::Vigie(Name::Session(OfSession::Stop), "PD-285".into())
        );
        assert_eq!(parse("/approve K7Q2"), Slash::Answer("approve K7Q2".into()));
        assert_eq!(parse("/stpo"), Slash::Unknown { typed: "stpo".into(), meant: Some("stop") });
        assert_eq!(
            parse("/frobnicate"),
            Slash::Unknown { typed: "frobnicate".into(), meant: None }
        );
        assert_eq!(parse("/tmp is full"), Slash::Text);
        assert_eq!(parse("/"), Slash::Text);
        assert_eq!(parse("//compact"), Slash::Agent("/compact".into()));
        assert_eq!(parse("// a comment"), Slash::Text);
    }

    #[test]
    fn a_backslash_makes_words_of_a_command() {
        assert_eq!(parse("\\/status is slow"), Slash::Words("/status is slow".into()));
        assert_eq!(parse("\\!status"), Slash::Words("!status".into()));
        assert_eq!(parse("\\//compact"), Slash::Words("//compact".into()));
        assert_eq!(parse("\\n is a newline"), Slash::Text);
    }
}
