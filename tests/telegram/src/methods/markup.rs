//! Keyboards under messages.

use serde_json::{Map, Value, json};

use super::check_fields;
use crate::{
    params::Params,
    refusal::{Refusal, bad},
    state::State,
    text::{checked_link, names_a_user, units},
};

/// Buttons of one keyboard. Source: Telegram's documentation of limits.
const BUTTONS: usize = 100;
/// Bytes of `callback_data`. Source: Bot API, `InlineKeyboardButton`.
const DATA_BYTES: usize = 64;
/// UTF-16 units of a text to copy. Source: Bot API, `CopyTextButton`.
const COPY_UNITS: usize = 256;

/// The fields of an inline button in Bot API 10.3.
const BUTTON: [&str; 14] = [
    "text",
    "callback_data",
    "callback_game",
    "copy_text",
    "disabled",
    "icon_custom_emoji_id",
    "login_url",
    "pay",
    "style",
    "switch_inline_query",
    "switch_inline_query_chosen_chat",
    "switch_inline_query_current_chat",
    "url",
    "web_app",
];

/// Those of them that are actions without a check of their own.
const OTHER_ACTIONS: [&str; 7] = [
    "callback_game",
    "disabled",
    "login_url",
    "pay",
    "switch_inline_query",
    "switch_inline_query_chosen_chat",
    "switch_inline_query_current_chat",
];

/// What a `reply_markup` is.
pub(super) enum Markup {
    /// Nothing under the message.
    None,
    /// Buttons under the message.
    Inline(Value),
    /// A keyboard in place of the phone's own, or the like: the message can never be edited.
    Other,
}

impl Markup {
    pub(super) fn inline(self) -> Option<Value> {
        match self {
            Self::Inline(value) => Some(value),
            Self::None | Self::Other => None,
        }
    }
}

/// Reads the keyboard of a call.
pub(super) fn read(state: &mut State, params: &Params, private: bool) -> Result<Markup, Refusal> {
    let Some(markup) = params.object("reply_markup") else { return Ok(Markup::None) };
    let Some(keyboard) = markup.get("inline_keyboard") else {
        if !markup.is_empty() {
            let text = format!(
                "{}: a keyboard that is not inline, so the message can never be edited",
                params.method
            );
            state.records.defect("reply keyboard", text);
        }
        return Ok(if markup.is_empty() { Markup::None } else { Markup::Other });
    };
    check_fields(state, "InlineKeyboardMarkup", markup, &["inline_keyboard", "force_reply"])?;
    let rows = keyboard
        .as_array()
        .ok_or_else(|| bad("Field \"inline_keyboard\" must be of type Array"))?;
    let mut out = Vec::new();
    let mut count = 0;
    for row in rows {
        let row = row.as_array().ok_or_else(|| {
            bad("Field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array of Arrays")
        })?;
        let buttons: Vec<Value> =
            row.iter().map(|value| button(state, value, private)).collect::<Result<_, _>>()?;
        count += buttons.len();
        if !buttons.is_empty() {
            out.push(buttons);
        }
    }
    if count > BUTTONS {
        return Err(bad("reply markup is too long"));
    }
    Ok(if out.is_empty() { Markup::None } else { Markup::Inline(json!({"inline_keyboard": out})) })
}

fn refuse(text: &str) -> Refusal {
    bad(format!("can't parse inline keyboard button: {text}"))
}

fn button(state: &mut State, value: &Value, private: bool) -> Result<Value, Refusal> {
    let fields =
        value.as_object().ok_or_else(|| refuse("InlineKeyboardButton must be an Object"))?;
    check_fields(state, "InlineKeyboardButton", fields, &BUTTON)?;
    let mut fields: Map<String, Value> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let text = fields
        .get("text")
        .and_then(Value::as_str)
        .ok_or_else(|| refuse("Can't find field \"text\""))?;
    if text.trim().is_empty() {
        return Err(bad("Inline keyboard button text must be non-empty"));
    }
    if let Some(style) = fields.get("style")
        && !matches!(style.as_str(), Some("danger" | "success" | "primary"))
    {
        return Err(refuse("invalid button style specified"));
    }
    let actions = fields
        .keys()
        .filter(|name| !["text", "style", "icon_custom_emoji_id"].contains(&name.as_str()))
        .count();
    if actions > 1 {
        state.records.defect("button with two actions", format!("{value}"));
    }
    action(&mut fields, private)?;
    Ok(Value::Object(fields))
}

/// Checks what the button does.
fn action(fields: &mut Map<String, Value>, private: bool) -> Result<(), Refusal> {
    if let Some(url) = fields.get("url") {
        let url =
            url.as_str().ok_or_else(|| refuse("Field \"url\" must be of type String"))?.to_owned();
        return button_link(fields, &url);
    }
    if let Some(data) = fields.get("callback_data") {
        let data = data
            .as_str()
            .ok_or_else(|| refuse("Field \"callback_data\" must be of type String"))?;
        return match data.len() {
            0 => Err(refuse("Text buttons are unallowed in the inline keyboard")),
            1..=DATA_BYTES => Ok(()),
            _ => Err(bad("BUTTON_DATA_INVALID")),
        };
    }
    if let Some(app) = fields.get("web_app") {
        let url = app.get("url").and_then(Value::as_str).unwrap_or_default();
        if !private {
            return Err(bad("BUTTON_TYPE_INVALID"));
        }
        if !url.starts_with("https://") {
            return Err(bad(format!(
                "inline keyboard button Web App URL '{url}' is invalid: Only HTTPS links are allowed"
            )));
        }
        return Ok(());
    }
    if let Some(copy) = fields.get("copy_text") {
        let text = copy.get("text").and_then(Value::as_str).unwrap_or_default();
        let good = (1..=COPY_UNITS).contains(&units(text));
        return if good { Ok(()) } else { Err(bad("BUTTON_COPY_TEXT_INVALID")) };
    }
    if OTHER_ACTIONS.iter().any(|name| fields.contains_key(*name)) {
        return Ok(());
    }
    Err(refuse("Text buttons are unallowed in the inline keyboard"))
}

fn button_link(fields: &mut Map<String, Value>, url: &str) -> Result<(), Refusal> {
    if names_a_user(url) {
        return Ok(());
    }
    let Some(link) = checked_link(url) else {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_lowercase());
        let why = match scheme.as_deref() {
            None | Some("http" | "https") => "Wrong HTTP URL",
            Some(_) => "Unsupported URL protocol",
        };
        return Err(bad(format!("inline keyboard button URL '{url}' is invalid: {why}")));
    };
    fields.insert("url".into(), link.into());
    Ok(())
}
