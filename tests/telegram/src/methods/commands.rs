//! The bot's commands and the texts of its profile.

use serde_json::{Map, Value, json};

use super::{Access, chat};
use crate::{
    params::Params,
    refusal::{Refusal, bad},
    state::State,
    world::{ChatId, UserId},
};

/// Commands of one scope. Source: Bot API, `setMyCommands`.
const COMMANDS: usize = 100;
/// Characters of a command. Source: Bot API, `BotCommand`.
const COMMAND: usize = 32;
/// Characters of what a command is said to do. Source: Bot API, `BotCommand`.
const COMMAND_TEXT: usize = 256;

/// Where commands are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Default,
    AllPrivateChats,
    AllGroupChats,
    AllChatAdministrators,
    Chat(ChatId),
    ChatAdministrators(ChatId),
    ChatMember(ChatId, UserId),
}

fn scope(state: &State, params: &Params) -> Result<(Scope, String), Refusal> {
    let none = Map::new();
    let object = params.object("scope").unwrap_or(&none);
    let number = |name: &str| object.get(name).and_then(Value::as_i64).unwrap_or_default();
    let known = |id: ChatId| {
        state.chats.contains_key(&id).then_some(id).ok_or_else(|| bad("chat not found"))
    };
    let scope = match object.get("type").and_then(Value::as_str).unwrap_or("default") {
        "default" => Scope::Default,
        "all_private_chats" => Scope::AllPrivateChats,
        "all_group_chats" => Scope::AllGroupChats,
        "all_chat_administrators" => Scope::AllChatAdministrators,
        "chat" => Scope::Chat(known(number("chat_id"))?),
        "chat_administrators" => Scope::ChatAdministrators(known(number("chat_id"))?),
        "chat_member" => Scope::ChatMember(known(number("chat_id"))?, number("user_id")),
        _ => return Err(bad("can't parse BotCommandScope: Unsupported type specified")),
    };
    Ok((scope, params.str("language_code").to_owned()))
}

pub(super) fn set(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let commands: Vec<Value> =
        params.list("commands").iter().map(command).collect::<Result<_, _>>()?;
    if commands.len() > COMMANDS {
        return Err(bad("BOT_COMMANDS_TOO_MUCH"));
    }
    let scope = scope(state, params)?;
    state.commands.insert(scope, commands);
    Ok(true.into())
}

fn command(value: &Value) -> Result<Value, Refusal> {
    let fields =
        value.as_object().ok_or_else(|| bad("can't parse BotCommand: expected an Object"))?;
    let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    let name = word("command").trim_start_matches('/');
    let text = word("description");
    let refused = if name.is_empty() {
        "command must be non-empty"
    } else if name.chars().count() > COMMAND {
        "command length must not exceed 32"
    } else if text.is_empty() {
        "command description must be non-empty"
    } else if text.chars().count() > COMMAND_TEXT {
        "command description length must not exceed 256"
    } else if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        "BOT_COMMAND_INVALID"
    } else {
        return Ok(json!({"command": name, "description": text}));
    };
    Err(bad(refused))
}

pub(super) fn get(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let scope = scope(state, params)?;
    Ok(state.commands.get(&scope).cloned().unwrap_or_default().into())
}

pub(super) fn delete(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let scope = scope(state, params)?;
    state.commands.remove(&scope);
    Ok(true.into())
}

fn set_text(
    state: &mut State,
    params: &Params,
    field: &'static str,
    limit: usize,
) -> Result<Value, Refusal> {
    let text = params.str(field);
    if text.chars().count() > limit {
        return Err(bad(format!("{field} is too long")));
    }
    state.texts.insert((field, params.str("language_code").into()), text.into());
    Ok(true.into())
}

fn get_text(state: &State, params: &Params, field: &'static str) -> Value {
    let text = state.texts.get(&(field, params.str("language_code").to_owned()));
    json!({field: text.map(String::as_str).unwrap_or_default()})
}

// The limits are those of the methods in the Bot API.

pub(super) fn set_name(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    set_text(state, params, "name", 64)
}

pub(super) fn set_description(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    set_text(state, params, "description", 512)
}

pub(super) fn set_short_description(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    set_text(state, params, "short_description", 120)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn get_name(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let mut answer = get_text(state, params, "name");
    if answer["name"] == "" {
        answer["name"] = state.bot.name.clone().into();
    }
    Ok(answer)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn get_description(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    Ok(get_text(state, params, "description"))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn get_short_description(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    Ok(get_text(state, params, "short_description"))
}

pub(super) fn set_menu_button(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    if params.has("chat_id") {
        chat(state, params, Access::Read)?;
    }
    Ok(true.into())
}
