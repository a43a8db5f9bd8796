//! What people write in chats about runs: `/run`, `/runs`, `/cancel`, `/retry`.

use std::collections::BTreeMap;

use super::progress::cancel_button;
use crate::{
    bridge::Level,
    command::Refusal,
    decide::{Work, heard::Message, show},
    run::{Given, KnownRun},
    text::Rich,
};

/// Runs in a list on a phone.
const LISTED: usize = 12;

impl Work<'_> {
    /// `/run [NAME [in PROJECT] [name=value …]]`.
    pub(in crate::decide) fn slash_run(&mut self, message: &Message, arguments: &str) {
        let (name, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        if name.is_empty() {
            return self.offer_workflows(message);
        }
        let started =
            self.named_by("in", rest, &self.project_names()).and_then(|(project, rest)| {
                let given = pairs(rest).map_err(Refusal::BadName)?;
                self.run_typed(message, name, given, project)
            });
        match started {
            Ok(Some(run)) => {
                let words = self.words_of_start(run);
                self.say_here(message, &words);
            }
            Ok(None) => {}
            Err(refusal) => self.say_here(message, &in_full(&refusal)),
        }
    }

    pub(in crate::decide) fn slash_runs(&mut self, message: &Message) {
        let all = || self.state.runs.all().rev();
        let (open, over): (Vec<_>, Vec<_>) = all().partition(|known| known.row.life.is_open());
        let listed = open.into_iter().chain(over).take(LISTED);
        let lines: Vec<_> = listed.map(|known: &KnownRun| self.head(known)).collect();
        let words = if lines.is_empty() {
            "Nothing was run yet. /run lists what can be.".to_owned()
        } else {
            lines.join("\n")
        };
        self.say_post(message, show::note(Level::Note, Rich::plain(words), vec![]));
    }

    pub(in crate::decide) fn slash_cancel(&mut self, message: &Message, arguments: &str) {
        let open: Vec<_> = self.state.runs.open().filter(|it| it.row.parent.is_none()).collect();
        if let ([one], true) = (open.as_slice(), arguments.trim().is_empty()) {
            let name = one.row.name();
            let button = cancel_button(&one.row);
            let words = Rich::plain(format!("Cancel {name}?"));
            return self.say_post(message, show::note(Level::Note, words, vec![button]));
        }
        let words = match self.run_meant(arguments, "cancel") {
            Ok(run) => self.cancel_run_by(run, &message.human),
            Err(refusal) => Err(refusal),
        };
        let words = words.unwrap_or_else(|refusal| in_full(&refusal));
        self.say_here(message, &words);
    }

    /// `/retry NAME [STEP]`.
    pub(in crate::decide) fn slash_retry(&mut self, message: &Message, arguments: &str) {
        let mut parts = arguments.split_whitespace();
        let name = parts.next().unwrap_or_default();
        let words = match self.run_meant(name, "retry") {
            Ok(run) => self.retry_run_by(run, parts.next(), &message.human),
            Err(refusal) => Err(refusal),
        };
        let words = words.unwrap_or_else(|refusal| in_full(&refusal));
        self.say_here(message, &words);
    }

    /// What cannot be taken back wants its name.
    fn run_meant(&self, name: &str, verb: &str) -> Result<crate::id::RunId, Refusal> {
        if name.trim().is_empty() {
            let open: Vec<_> = self.state.runs.open().map(|known| known.row.name()).collect();
            let which = open.first().map_or("NAME", String::as_str);
            return Err(Refusal::NotRun(if open.is_empty() {
                format!("Which one? Write /{verb} NAME; /runs lists them")
            } else {
                format!("Which one? /{verb} {which}. These are open: {}", open.join(", "))
            }));
        }
        self.run_named(name)
    }
}

/// With its full stop.
fn in_full(refusal: &Refusal) -> String {
    let words = refusal.in_a_chat();
    if words.ends_with(['.', '!', '?', ':']) { words } else { format!("{words}.") }
}

/// `k=v k2="a b" k3='c d'`.
fn pairs(text: &str) -> Result<BTreeMap<String, Given>, String> {
    let mut all = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, value) =
            rest.split_once('=').ok_or_else(|| format!("`{rest}` is no name=value"))?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(format!("`{name}` is no name=value"));
        }
        let (value, after) = match value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            Some(quote) => {
                let inner = &value[1..];
                let end = inner.find(quote);
                let end = end.ok_or_else(|| format!("the value of {name} has no end: {quote}"))?;
                (&inner[..end], &inner[end + 1..])
            }
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        all.insert(name.to_owned(), Given::Text(value.to_owned()));
        rest = after.trim_start();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_blanks_stand_in_quotes() {
        let text = |words: &str| Given::Text(words.into());
        let read = pairs(r#" a=1 b="x y"  c='p "q"' d="#).unwrap();
        let wanted = [("a", "1"), ("b", "x y"), ("c", "p \"q\""), ("d", "")];
        assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), text(value))).into());
        assert!(pairs("prod").is_err() && pairs("a=\"x").is_err() && pairs("x a=1").is_err());
    }
}
