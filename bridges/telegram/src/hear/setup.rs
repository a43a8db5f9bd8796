//! What a start does beside the first poll: who the bot is, its command menu, old rows.

use std::time::Duration;
use tokio::sync::watch;
use tracing::{debug, info, warn};
use vigie_bridge_kit::pause;

use super::{read::Me, trouble};
use crate::{
    Menu, TelegramBridge,
    api::{CallError, CommandScope, GetMe, Refusal, SetMyCommands},
    store::heard,
};

/// Tries to set the command menu; it is a convenience, and the next start tries again.
const MENU_TRIES: u32 = 5;

/// How long what the daemon has stays here: to tell edits from mere changes, and for a look back.
const KEPT: chrono::TimeDelta = chrono::TimeDelta::days(7);

const PRUNE_EVERY: Duration = Duration::from_hours(24);

/// Where the menu stands: everywhere, and where apps look first.
const SCOPES: [CommandScope; 3] =
    [CommandScope::AllPrivateChats, CommandScope::AllGroupChats, CommandScope::Default];

/// Learns who the bot is, as often as it takes. What is known from an earlier start is told at once.
pub(super) async fn introduce(bridge: &TelegramBridge, me: &watch::Sender<Option<Me>>) {
    let bot = bridge.api.token().bot().0;
    let mut menu = None;
    match bridge.store.run(move |db| heard::bot(db, bot)).await {
        Ok(known) => {
            menu = known.menu;
            if known.username.is_some() {
                let known = Me { id: bot, username: known.username, topics: known.topics };
                me.send_replace(Some(known));
            }
        }
        Err(error) => warn!(%error, "who the bot is cannot be read from disk"),
    }
    for failures in 0.. {
        match bridge.api.call(&GetMe {}).await {
            Ok(user) => {
                let (username, topics) = (user.username, user.has_topics_enabled);
                me.send_replace(Some(Me { id: bot, username: username.clone(), topics }));
                let put = move |db: &mut _| heard::introduced(db, bot, username.as_deref(), topics);
                if let Err(error) = bridge.store.run(put).await {
                    warn!(%error, "who the bot is cannot be written down");
                }
                break;
            }
            Err(error) => {
                warn!(%error, "Telegram does not say who the bot is; nothing is handed in before");
                tokio::time::sleep(rest(&error, failures)).await;
            }
        }
    }
    offer(bridge, menu.as_deref()).await;
}

fn rest(error: &CallError, failures: u32) -> Duration {
    match error {
        CallError::TooMany { after } => *after,
        CallError::Refused { refusal, .. } => trouble::rest_after(*refusal, failures),
        CallError::NotSent { .. } | CallError::InDoubt { .. } => pause::after(failures),
    }
}

/// Sets the command menu, if it is another one than last time.
async fn offer(bridge: &TelegramBridge, last: Option<&str>) {
    let menu = digest(&bridge.commands);
    if last == Some(&menu) || bridge.commands.is_empty() {
        return;
    }
    for failures in 0..MENU_TRIES {
        match set(bridge).await {
            Ok(()) => {
                let bot = bridge.api.token().bot().0;
                if let Err(error) = bridge.store.run(move |db| heard::menu_is(db, bot, &menu)).await
                {
                    debug!(%error, "the menu will be set again");
                }
                return;
            }
            Err(error) => {
                info!(%error, "the command menu could not be set");
                if matches!(error, CallError::Refused { refusal: Refusal::Other, .. }) {
                    return; // it will not get better by itself
                }
                tokio::time::sleep(rest(&error, failures)).await;
            }
        }
    }
}

async fn set(bridge: &TelegramBridge) -> Result<(), CallError> {
    for (place, menu) in bridge.commands.iter().enumerate() {
        let language_code = (place > 0).then(|| menu.language.clone());
        for scope in SCOPES {
            let commands = menu.commands.clone();
            let language_code = language_code.clone();
            bridge.api.call(&SetMyCommands { commands, scope, language_code }).await?;
        }
    }
    Ok(())
}

/// A text that is another one for another menu.
fn digest(menus: &[Menu]) -> String {
    let line = |menu: &Menu| {
        let commands = menu.commands.iter().map(|it| format!("{}={}", it.command, it.description));
        format!("{}: {}", menu.language, commands.collect::<Vec<_>>().join("; "))
    };
    menus.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Forgets old rows, now and every day.
pub(super) async fn prune(bridge: &TelegramBridge) {
    loop {
        let before = (bridge.now() - KEPT).timestamp_millis();
        match bridge.store.run(move |db| heard::prune(db, before)).await {
            Ok(rows) => debug!(rows, "old updates are forgotten"),
            Err(error) => warn!(%error, "old updates cannot be forgotten"),
        }
        tokio::time::sleep(PRUNE_EVERY).await;
    }
}
