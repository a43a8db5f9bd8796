//! The token, the look at the bot, the settings, and what is left to do.

use serde::Serialize;
use std::{fs, io::Read as _, path::Path};

use super::{
    Desk, Failure, InitTelegram,
    secret::{self, NoText},
    settings::{self, Change, Settings},
};
use crate::{
    bridges::telegram::{Bot, Given, LookError, Me},
    cli::out::{Ink, Out},
    config::{Config, Named, OnOff, bot_api},
    web::shapes::DaemonShape,
};

/// A token has about 46 characters; a file much longer than that is another one.
const LONGEST_FILE: u64 = 4096;

const PROMPT: &str = "Telegram makes bots in a chat: open https://t.me/BotFather, send /newbot and \
    answer its two questions.\nPaste the token that it gives you; it is not shown: ";

/// What was set up.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "answers of Telegram's, for programs")]
struct SetUp {
    bot: String,
    username: Option<String>,
    can_join_groups: bool,
    reads_groups: bool,
    has_topics: bool,
    token_file: String,
    config: String,
    /// What a person has to add to the configuration, when that could not be done here.
    lines: Option<String>,
    /// Why it could not.
    why: Option<String>,
    /// A daemon runs that does not know of this yet.
    running: bool,
    /// How it is started with these settings.
    start: String,
}

pub(super) async fn run(args: InitTelegram, desk: &Desk) -> Result<(), Failure> {
    super::outside_of_sessions()?;
    let config = Config::load(&desk.around, Named::No).map_err(Failure::usage)?;
    let api = args.api.as_deref().map(read_api).transpose()?;
    let given = match &args.token_file {
        Some(file) => from_file(file)?,
        None => asked()?,
    };
    let given = Given::read(&given).map_err(|wrong| {
        Failure::usage(wrong).hint("@BotFather shows it again: /mybots, the bot, API Token.")
    })?;
    let look = Bot::new(given.token.clone(), api.as_deref().unwrap_or(&config.telegram.api));
    let me = look.map_err(|wrong| not_reached(&wrong))?.me().await;
    let me = me.map_err(|wrong| not_reached(&wrong))?;
    let token_file = &config.telegram.token_file;
    given.keep(token_file).map_err(|error| {
        let words = format!("the token cannot be written to {}: {error}", token_file.display());
        Failure::outside(words).hint("Look: vigie doctor")
    })?;
    let settings = settings::switch_on(&desk.around, &config, &change(&config, api));
    let running = desk.client.get::<DaemonShape>("/daemon").await.is_ok();
    let start = match &args.config {
        Some(file) => format!("vigie up --config {}", file.display()),
        None => "vigie up".into(),
    };
    let done = set_up(me, token_file, &desk.around.config, settings, Daemon { running, start });
    desk.out.show(&done, words)
}

/// Switches Telegram on, at `api` when it is named and another one.
fn change(before: &Config, api: Option<String>) -> Change {
    let mut wanted = before.clone();
    wanted.telegram.enabled = OnOff::On;
    let mut keys = Vec::new();
    if let Some(api) = api.filter(|api| *api != before.telegram.api) {
        keys.push(("api", api.as_str().into()));
        wanted.telegram.api = api;
    }
    Change { table: "telegram", keys, person: None, wanted }
}

fn read_api(text: &str) -> Result<String, Failure> {
    bot_api(text).ok_or_else(|| {
        // Nothing of it is repeated: it may hold a token.
        Failure::usage("`--api` is no address of a Bot API").hint(
            "Write https:// and the host of your Bot API server, without `/bot` and the token.",
        )
    })
}

fn from_file(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read =
        fs::File::open(file).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
    read.map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))?;
    Ok(text)
}

fn asked() -> Result<String, Failure> {
    secret::read(PROMPT).map_err(|why| match why {
        NoText::Cancelled => Failure::refused("cancelled", "nothing was changed"),
        NoText::TooLong => Failure::usage("what came is far longer than a token"),
        NoText::Nothing => Failure::usage("no token came")
            .hint("Paste it when asked, pipe it in, or name a file: --token-file FILE"),
    })
}

fn not_reached(error: &LookError) -> Failure {
    let failure = match error {
        // It may never have been one.
        LookError::Revoked => Failure::refused("revoked", "Telegram knows no bot with this token"),
        LookError::WrongAddress { .. }
        | LookError::Unreached { .. }
        | LookError::Gone
        | LookError::Refused(_)
        | LookError::Here(_) => Failure::outside(error),
    };
    let mend = match error {
        LookError::Revoked => {
            "Copy it whole; @BotFather shows it again: /mybots, the bot, API Token."
        }
        LookError::Unreached { .. } => {
            "Look at this machine's network and at HTTPS_PROXY, then run this again."
        }
        LookError::WrongAddress { .. }
        | LookError::Gone
        | LookError::Refused(_)
        | LookError::Here(_) => error.mend(),
    };
    failure.hint(format!("{mend} Nothing was changed."))
}

/// Whether one runs, and how it is started with the new settings.
struct Daemon {
    running: bool,
    start: String,
}

fn set_up(me: Me, token_file: &Path, config: &Path, settings: Settings, daemon: Daemon) -> SetUp {
    let Daemon { running, start } = daemon;
    let (lines, why) = match settings {
        Settings::Unchanged | Settings::Written => (None, None),
        Settings::Lines { lines, why } => (Some(lines), Some(why)),
    };
    SetUp {
        bot: me.name,
        username: me.username,
        can_join_groups: me.can_join_groups,
        reads_groups: me.reads_groups,
        has_topics: me.has_topics,
        token_file: token_file.display().to_string(),
        config: config.display().to_string(),
        lines,
        why,
        running,
        start,
    }
}

fn words(out: &Out, done: &SetUp) -> String {
    let SetUp { bot, token_file, config, .. } = done;
    let name = done.username.as_ref().map_or_else(|| bot.clone(), |name| format!("@{name}"));
    let mut parts = vec![format!("{name} answers. Its token is in {token_file}, for you alone.")];
    parts.push(match (&done.lines, &done.why) {
        (Some(lines), why) => {
            let why = why.as_deref().unwrap_or_default().trim_end();
            let lines = lines.trim_end().replace('\n', "\n  ");
            format!("{config} could not be changed ({why}). Add these lines to it:\n\n  {lines}\n")
        }
        (None, _) => format!("Telegram is switched on in {config}."),
    });
    parts.push(String::new());
    parts.push("Where you can talk to it; any of these can be added later:".into());
    parts.extend(places(out, done, &name));
    parts.push(String::new());
    let start = &done.start;
    let next = if done.running {
        format!("vigie down, then {start}; sessions go on meanwhile")
    } else {
        start.clone()
    };
    parts.push(format!(
        "Next: {next}. It shows the code that lets you in; vigie pair shows another."
    ));
    parts.join("\n")
}

/// A line or two for each sort of chat, with what the bot says already.
fn places(out: &Out, done: &SetUp, name: &str) -> Vec<String> {
    let mark =
        |done: bool| if done { out.ink(Ink::Good, "ok  ") } else { out.ink(Ink::Dim, "    ") };
    let at_botfather = format!("@BotFather, /mybots, {name}");
    let topics = if done.has_topics {
        "Your own chat with it, a topic for each session: on".into()
    } else {
        format!("A topic for each session in there: {at_botfather}, Bot Settings, Threads Mode")
    };
    let joins = if done.can_join_groups {
        "A group, a topic for each session: switch Topics on in the group's settings and add\n      \
         the bot as administrator with the right \"Manage topics\""
            .into()
    } else {
        format!("A group: let it join first, {at_botfather}, Bot Settings, Allow Groups")
    };
    let reads = if done.reads_groups {
        "It reads what is written in groups also where it is no administrator"
    } else {
        "In a group where it is no administrator it hears commands and replies only;\n      \
         /setprivacy at @BotFather, Disable, changes that. An administrator hears all"
    };
    vec![
        format!("{}  Your own chat with it: nothing to do", mark(true)),
        format!("{}  {topics}", mark(done.has_topics)),
        format!("{}  {joins}", mark(false)),
        format!("{}  {reads}", mark(done.reads_groups)),
    ]
}
