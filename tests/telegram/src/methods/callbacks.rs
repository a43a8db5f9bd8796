//! Answers to presses, and the bot's reactions.

use std::time::Duration;

use serde_json::Value;

use super::{Access, message};
use crate::{
    params::Params,
    refusal::{Refusal, bad},
    state::{State, Toast},
    text::units,
};

/// How long a press can be answered. Source: public issues of bot libraries; Telegram gives no figure.
const ANSWERABLE: Duration = Duration::from_secs(15);
/// UTF-16 units of an answer. Source: Bot API, `answerCallbackQuery`.
const ANSWER_UNITS: usize = 200;

/// What a bot can react with. Source: Bot API, `ReactionTypeEmoji`.
const REACTIONS: &str = "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 \
    🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡";

pub(super) fn answer(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let now = state.now();
    let text = params.str("text").to_owned();
    let open = state
        .callbacks
        .get_mut(params.str("callback_query_id"))
        .filter(|press| press.answer.is_none() && now <= press.at + ANSWERABLE);
    let Some(press) = open else {
        return Err(bad("query is too old and response timeout expired or query ID is invalid"));
    };
    if units(&text) > ANSWER_UNITS {
        return Err(bad("MESSAGE_TOO_LONG"));
    }
    let toast = Toast { user: press.user, text, alert: params.flag("show_alert"), at: now };
    press.answer = Some(toast.clone());
    let chat = press.chat;
    if !toast.text.is_empty() {
        state.chat_mut(chat).toasts.push(toast);
    }
    Ok(true.into())
}

pub(super) fn react(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let (chat, id) = message(state, params, Access::Read, "message to react")?;
    let reactions = params.list("reaction");
    if reactions.len() > 1 {
        return Err(bad("REACTIONS_TOO_MANY"));
    }
    for reaction in reactions {
        match reaction.get("type").and_then(Value::as_str) {
            Some("emoji") => {
                let emoji = reaction.get("emoji").and_then(Value::as_str).unwrap_or_default();
                let plain = emoji.replace('\u{fe0f}', "");
                if !REACTIONS.split_whitespace().any(|known| known == plain) {
                    return Err(bad("REACTION_INVALID"));
                }
            }
            Some("custom_emoji") => {}
            Some(_) | None => {
                return Err(bad("can't parse ReactionType: invalid reaction type specified"));
            }
        }
    }
    let bot = state.bot.id();
    let target = state.chat_mut(chat).message_mut(id).expect("looked up above");
    if target.service().is_some_and(|name| name != "pinned_message") {
        return Err(bad("MESSAGE_ID_INVALID"));
    }
    target.reactions.remove(&bot);
    if !reactions.is_empty() {
        target.reactions.insert(bot, reactions.to_vec());
    }
    Ok(true.into())
}
