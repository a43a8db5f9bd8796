//! Telegram: the token, the bot, who takes its updates, the groups. Never asks for updates itself:
//! they would be lost to the daemon.

use std::{path::Path, time::Duration};
use vigie_core::bridge::Room;

use super::{
    Finding,
    service::{Running, Words},
};
use crate::{
    bridges::{
        TELEGRAM,
        telegram::{Bot, Group, LookError, Me, Standing, TopicRight, read_token, set_aside},
    },
    config::{self, OnOff},
    web::shapes::ChatShape,
};

const TOPIC: &str = TELEGRAM;

const WORDS: Words =
    Words { let_in_again: "Let the bot in again", let_in: "Let yourself in: vigie pair" };

/// A daemon that listens has fetched within that time what waited when it began.
const FETCHED: Duration = Duration::from_secs(3);

/// Groups looked at; each takes two questions to Telegram.
const GROUPS: usize = 10;

pub(super) async fn look(telegram: &config::Telegram, data: &Path) -> Vec<Finding> {
    match telegram.enabled {
        OnOff::Off => Vec::new(),
        OnOff::On => {
            let running = Running::ask(TELEGRAM, data).await;
            let mut findings = running.findings(&WORDS);
            findings.extend(bot(telegram, &running).await);
            findings.extend(aside(telegram, data, &running).await);
            findings
        }
    }
}

async fn bot(telegram: &config::Telegram, running: &Running) -> Vec<Finding> {
    let token = match read_token(&telegram.token_file) {
        Ok(token) => token,
        Err(wrong) => return vec![Finding::fail(TOPIC, &wrong, wrong.mend())],
    };
    let asked = async {
        let bot = Bot::new(token, &telegram.api)?;
        let me = bot.me().await?;
        Ok((bot, me))
    };
    let (bot, me) = match asked.await {
        Ok(known) => known,
        Err(wrong) => return vec![failed("", &wrong)],
    };
    let name = me.username.as_ref().map_or_else(|| me.name.clone(), |name| format!("@{name}"));
    let mut findings = vec![Finding::ok(TOPIC, format!("{name} answers at {}", telegram.api))];
    findings.extend(updates(&bot, running).await);
    for chat in running.chats().filter(|chat| !chat.room.is_direct()).take(GROUPS) {
        findings.extend(group(&bot, &me, chat).await);
    }
    findings
}

fn failed(what: &str, wrong: &LookError) -> Finding {
    Finding::fail(TOPIC, format!("{what}{wrong}"), wrong.mend())
}

/// Whether what people write reaches Vigie.
async fn updates(bot: &Bot, running: &Running) -> Option<Finding> {
    let waiting = match bot.waiting().await {
        Ok(waiting) => waiting,
        Err(wrong) => return Some(failed("what waits is not known: ", &wrong)),
    };
    if let Some(webhook) = waiting.webhook {
        let words = format!("what people write goes to {}, not to Vigie", host(&webhook));
        let todo = "That is a webhook of another program with this token: stop that, then vigie down and vigie up; or give Vigie a bot of its own.";
        return Some(Finding::fail(TOPIC, words, todo));
    }
    if waiting.updates == 0 {
        return None;
    }
    if running.bridge().is_none() {
        let words = format!("{} wait at Telegram, which keeps them for a day", waiting.updates);
        return Some(Finding::warn(TOPIC, words, "Fetch them: vigie up"));
    }
    tokio::time::sleep(FETCHED).await;
    let left = bot.waiting().await.map_or(0, |waiting| waiting.updates);
    (left > 0).then(|| {
        let words = format!("{left} wait at Telegram though Vigie runs, so it does not hear");
        let todo = "Start it anew: vigie down, then vigie up. If that does not help, another program may use this bot.";
        Finding::fail(TOPIC, words, todo)
    })
}

/// What was set aside because it could not be read.
async fn aside(telegram: &config::Telegram, data: &Path, running: &Running) -> Option<Finding> {
    // Another version's file is left alone: reading it would bring it up to date.
    let ours = running
        .daemon
        .as_ref()
        .is_none_or(|status| status.daemon.version == env!("CARGO_PKG_VERSION"));
    if !ours {
        return None;
    }
    // Without a token nothing is said here: that was said above.
    let aside = set_aside(telegram, data).await.ok().filter(|aside| !aside.is_empty())?;
    let words = format!(
        "some of what came could not be read, and lies in {}: {}",
        data.join("telegram.db").display(),
        aside.join("; ")
    );
    let todo = "Ask for it again in the chat, and report this as a fault of Vigie.";
    Some(Finding::warn(TOPIC, words, todo))
}

/// Of a webhook's address the host alone: what follows often holds a secret.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

async fn group(bot: &Bot, me: &Me, chat: &ChatShape) -> Option<Finding> {
    match bot.group(&chat.chat, me).await {
        Ok(Some(group)) => Some(group_finding(&group, me, chat)),
        Ok(None) => None,
        Err(wrong) => Some(failed(&format!("group {}: ", chat.chat), &wrong)),
    }
}

fn group_finding(group: &Group, me: &Me, chat: &ChatShape) -> Finding {
    let title = &group.title;
    let forum = group.has_topics;
    match group.standing {
        Standing::Gone => {
            let todo = format!(
                "Add it again; if the group is done with: vigie unpair telegram {}",
                chat.chat
            );
            Finding::fail(TOPIC, format!("the bot is not in group {title} any more"), todo)
        }
        Standing::Member if !me.reads_groups => {
            let words = format!("in group {title} the bot hears only commands and replies to it");
            let todo = "Make it an administrator there, with the right \"Manage topics\".";
            Finding::warn(TOPIC, words, todo)
        }
        Standing::Member | Standing::Administrator { topics: TopicRight::Missing } if forum => {
            let words = format!("in group {title} the bot may make no topics");
            let todo = "Make it an administrator there, with the right \"Manage topics\".";
            Finding::warn(TOPIC, words, todo)
        }
        Standing::Member | Standing::Administrator { .. } if !forum => {
            let words = format!("group {title} has no topics, so all sessions share one chat");
            let todo = "Switch Topics on in the group's settings, for one a session.";
            Finding::warn(TOPIC, words, todo)
        }
        Standing::Member | Standing::Administrator { .. } if chat.room == Room::Group => {
            let words = format!("group {title} has topics, and Vigie has not noticed yet");
            Finding::warn(TOPIC, words, "Write something there.")
        }
        Standing::Member | Standing::Administrator { .. } => {
            Finding::ok(TOPIC, format!("group {title}: a topic for each session"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_webhook_the_host_alone_is_shown() {
        for url in ["https://ines:pw@bots.example.org:8443/hook?x", "bots.example.org:8443"] {
            assert_eq!(host(url), "bots.example.org:8443");
        }
    }
}
