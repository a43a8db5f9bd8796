//! Whose command a text is. In groups apps write `/stop@our_bot`.

/// Longest name of a command. Source: Bot API, `BotCommand.command`.
const LONGEST: usize = 32;

/// For whom a text is, if it is a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Addressee {
    /// For this bot, or for any; without the bot's name.
    Ours(String),
    /// For another bot.
    Theirs,
    /// No command.
    None,
}

/// `us` is our user name, without the `@`.
pub(super) fn read(text: &str, us: Option<&str>) -> Addressee {
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let Some(word) = word.strip_prefix('/') else { return Addressee::None };
    let (name, whom) = match word.split_once('@') {
        Some((name, whom)) => (name, Some(whom)),
        None => (word, None),
    };
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !plain(name) || name.len() > LONGEST || !whom.is_none_or(plain) {
        return Addressee::None;
    }
    match whom {
        None => Addressee::Ours(text.into()),
        Some(whom) if us.is_some_and(|us| us.eq_ignore_ascii_case(whom)) => {
            Addressee::Ours(format!("/{name}{rest}"))
        }
        Some(_) => Addressee::Theirs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_for_us_unless_it_names_another_bot() {
        let ours = |text: &str| Addressee::Ours(text.into());
        for (text, expected) in [
            ("/stop", ours("/stop")),
            ("/STOP", ours("/STOP")),
            ("/stop PD-285", ours("/stop PD-285")),
            ("/stop@vigie_bot PD-285", ours("/stop PD-285")),
            ("/stop@Vigie_Bot\nnow", ours("/stop\nnow")),
            ("/stop@other_bot", Addressee::Theirs),
            ("/stop@other_bot PD-285", Addressee::Theirs),
            ("/usr/bin is full", Addressee::None),
            ("/", Addressee::None),
            ("/ stop", Addressee::None),
            ("/stop@", Addressee::None),
            ("/PD-285 fix", Addressee::None),
            ("please /stop", Addressee::None),
            ("stop@vigie_bot", Addressee::None),
            ("", Addressee::None),
        ] {
            assert_eq!(read(text, Some("vigie_bot")), expected, "{text}");
        }
        assert_eq!(read("/stop@vigie_bot", None), Addressee::Theirs);
    }
}
