//! Telegram, as the configuration wants it: its token, its bridge, and looks at the bot and its
//! chats for `vigie init telegram` and `vigie doctor`.

mod bot;
mod token;

pub use bot::{Bot, Group, LookError, Me, Standing, TopicRight, Waiting};
pub use token::{Given, TokenTrouble, read_token};

use std::{fmt, path::Path, sync::Arc, time::Duration};
use tokio::sync::OnceCell;
use vigie_core::{
    bridge::{Bridge, Room},
    id::BridgeName,
    menu::{MENU, MenuEntry},
};
use vigie_telegram::{
    Menu, Options, TelegramBridge,
    api::{Api, BotCommand, GetMe, NoBaseUrl, Patience},
};

use super::{Bridges, Invite, TELEGRAM, unready::Unready};
use crate::{
    clock::Clock,
    config::{self, Config, Language, LongAnswers, OnOff},
};

/// The bridge's own database, in the data folder.
const FILE: &str = "telegram.db";

/// What people send is put in there, in the data folder.
const FILES: &str = "files";

/// A person waits for their code meanwhile; without the bot's name it is as good.
const INVITE: Duration = Duration::from_secs(3);

/// How many set-aside updates a person is shown.
const SHOWN: usize = 5;

/// What could not be read and was set aside: where it lies, and a line each, newest first.
///
/// # Errors
/// The bridge's own file cannot be read, or there is no token to open it with; in words.
pub async fn set_aside(config: &config::Telegram, data: &Path) -> Result<Vec<String>, String> {
    let file = data.join(FILE);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let words = |wrong: &dyn fmt::Display| wrong.to_string();
    let token = read_token(&config.token_file).map_err(|wrong| words(&wrong))?;
    let base = config.api.parse().map_err(|wrong: NoBaseUrl| words(&wrong))?;
    let api = Api::new(token, base, Patience::default()).map_err(|wrong| words(&wrong))?;
    let clock = Clock::system();
    let options = Options {
        api,
        clock: Arc::new(move || clock.now()),
        files: data.join(FILES),
        parts: None,
        commands: Vec::new(),
    };
    let bridge = TelegramBridge::open(&file, options).map_err(|wrong| words(&wrong))?;
    let aside = bridge.set_aside(SHOWN).await.map_err(|wrong| words(&wrong))?;
    Ok(aside.iter().map(|each| format!("update {}: {}", each.number, each.why)).collect())
}

/// Adds the bridge where it is wanted, or what stands in for it until it can begin.
pub(super) fn add(mut bridges: Bridges, config: &Config, data: &Path, clock: &Clock) -> Bridges {
    if config.telegram.enabled == OnOff::Off {
        return bridges;
    }
    let name = BridgeName::new(TELEGRAM);
    match begin(config, data, clock) {
        Ok((bridge, api)) => {
            bridges.all.push(bridge);
            bridges.invites.push((name, invite(api)));
        }
        Err(trouble) => {
            let parts = parts(config.telegram.long_answers);
            let limits = Box::new(move |room: Room| vigie_telegram::limits(room, parts));
            bridges.all.push(Arc::new(Unready { name, trouble, limits }));
        }
    }
    bridges
}

fn parts(long_answers: LongAnswers) -> Option<usize> {
    match long_answers {
        LongAnswers::Parts => None,
        LongAnswers::Document => Some(0),
    }
}

/// The bridge and its client, or why it cannot begin and what to do.
fn begin(config: &Config, data: &Path, clock: &Clock) -> Result<(Arc<dyn Bridge>, Api), String> {
    let telegram = &config.telegram;
    let token = read_token(&telegram.token_file)
        .map_err(|wrong| format!("{wrong}. {} Then: vigie down, vigie up", wrong.mend()))?;
    let again = |wrong: &dyn fmt::Display| format!("{wrong}. Mend it, then: vigie down, vigie up");
    let base = telegram.api.parse().map_err(|wrong: NoBaseUrl| again(&wrong))?;
    let api = Api::new(token, base, Patience::default()).map_err(|wrong| again(&wrong))?;
    let clock = clock.clone();
    let options = Options {
        api: api.clone(),
        clock: Arc::new(move || clock.now()),
        files: data.join(FILES),
        parts: parts(telegram.long_answers),
        commands: config.routing.languages.iter().map(|language| menu(*language)).collect(),
    };
    let bridge = TelegramBridge::open(&data.join(FILE), options);
    Ok((bridge.map_err(|wrong| again(&wrong))?, api))
}

fn menu(language: Language) -> Menu {
    let (tag, words): (_, fn(&MenuEntry) -> &'static str) = match language {
        Language::English => ("en", |entry| entry.english),
        Language::French => ("fr", |entry| entry.french),
    };
    let command = |entry: &MenuEntry| BotCommand {
        command: entry.word.into(),
        description: words(entry).into(),
    };
    Menu { language: tag.into(), commands: MENU.iter().map(command).collect() }
}

/// `https://t.me/` and the bot's name, asked for until Telegram has answered once.
fn invite(api: Api) -> Invite {
    let known: Arc<OnceCell<String>> = Arc::default();
    Arc::new(move || {
        let (api, known) = (api.clone(), known.clone());
        Box::pin(async move {
            let ask = async || {
                let me = tokio::time::timeout(INVITE, api.call(&GetMe {})).await;
                let name = me.ok().and_then(Result::ok).and_then(|me| me.username);
                name.map(|name| format!("https://t.me/{name}")).ok_or(())
            };
            known.get_or_try_init(ask).await.ok().cloned()
        })
    })
}
