//! What the bot can learn about itself, chats and members.

use serde_json::{Value, json};

use super::{Access, chat};
use crate::{
    params::Params,
    refusal::{Refusal, bad},
    state::State,
    world::{Membership, Status},
};

/// What members of a group may do, all of it here. Source: Bot API, `ChatPermissions`.
const PERMISSIONS: [&str; 14] = [
    "can_send_messages",
    "can_send_audios",
    "can_send_documents",
    "can_send_photos",
    "can_send_videos",
    "can_send_video_notes",
    "can_send_voice_notes",
    "can_send_polls",
    "can_send_other_messages",
    "can_add_web_page_previews",
    "can_change_info",
    "can_invite_users",
    "can_pin_messages",
    "can_manage_topics",
];

#[expect(clippy::unnecessary_wraps, reason = "the shape of all methods")]
pub(super) fn get_me(state: &mut State, _: &Params) -> Result<Value, Refusal> {
    let mut me = state.bot_json();
    let flags = [
        ("can_join_groups", true),
        ("can_read_all_group_messages", state.bot.reads_all),
        ("supports_guest_queries", false),
        ("supports_inline_queries", false),
        ("can_connect_to_business", false),
        ("can_manage_bots", false),
        ("has_main_web_app", false),
        ("has_topics_enabled", state.bot.has_topics_enabled),
        ("allows_users_to_create_topics", state.bot.has_topics_enabled),
    ];
    for (name, value) in flags {
        me[name] = value.into();
    }
    Ok(me)
}

pub(super) fn get_chat(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let place = chat(state, params, Access::Read)?;
    let mut out = state.chat_json(place.id);
    out["accent_color_id"] = 0.into();
    out["max_reaction_count"] = 11.into();
    out["accepted_gift_types"] = json!({
        "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false, "premium_subscription": false,
        "gifts_from_channels": false,
    });
    if !place.is_private() {
        out["permissions"] =
            PERMISSIONS.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
    }
    if let Some(pinned) = place.pinned.last() {
        out["pinned_message"] = state.inner_message_json(place.id, *pinned);
    }
    Ok(out)
}

pub(super) fn get_member(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let place = chat(state, params, Access::Read)?;
    let user = params.int("user_id").unwrap_or_default();
    let who = state.user_json(user).ok_or_else(|| bad("invalid user_id specified"))?;
    if place.is_private() {
        return Ok(json!({"status": "member", "user": who}));
    }
    Ok(state.member_json(place.id, user))
}

pub(super) fn count_members(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let place = chat(state, params, Access::Read)?;
    let there = place.members.values().filter(|member| member.status.is_in()).count();
    Ok(if place.is_private() { 2.into() } else { there.into() })
}

pub(super) fn get_administrators(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let place = chat(state, params, Access::Read)?;
    if place.is_private() {
        return Err(bad("there are no administrators in the private chat"));
    }
    let administrators = place.members.iter().filter(|(_, member)| member.status.administers());
    Ok(administrators.map(|(user, _)| state.member_json(place.id, *user)).collect())
}

pub(super) fn leave(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let place = chat(state, params, Access::Read)?;
    if place.is_private() {
        return Err(bad("chat member status can't be changed in private chats"));
    }
    let (id, bot) = (place.id, state.bot.id());
    state.chat_mut(id).members.insert(bot, Membership::of(Status::Left));
    Ok(true.into())
}
