//! A topic for each session: made once, named after the session, closed when it ends.

use chrono::TimeDelta;
use std::time::Duration;
use tracing::info;
use vigie_bridge_kit::measure::shortened;
use vigie_core::{
    bridge::{Said, SayError, SessionLook, TextUnit, ThreadState},
    id::DeliveryId,
};

use super::{Spot, outcome};
use crate::{
    TelegramBridge,
    api::{
        CallError, CloseForumTopic, CreateForumTopic, EditForumTopic, Method, Refusal,
        ReopenForumTopic, TgChat, TgMessage, TgThread,
    },
    store::{Begun, Openness, SeenTopic},
};

/// Longest name of a topic. Source: Bot API, `createForumTopic`; counted in UTF-16 units, which is
/// never more than Telegram counts.
const LONGEST_NAME: usize = 128;

/// Telegram tells the bot of the topics it made as of everything else. After so long without a poll
/// that came back, a second topic is the smaller harm.
const UNTIL_IT_IS_TOLD: TimeDelta = TimeDelta::seconds(60);

/// Between looks whether Telegram has told of the topic by now.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Makes the session's topic, or brings its name and state up to date.
pub(super) async fn show(
    bridge: &TelegramBridge,
    spot: Spot,
    state: &ThreadState,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let name = name_of(state);
    match spot.thread {
        None => make(bridge, spot.chat, name, key).await,
        Some(thread) => {
            let mut topic = Topic::load(bridge, spot.chat, thread).await?;
            let ended = state.state == SessionLook::Ended;
            if !ended {
                topic.set_open(Openness::Open).await?;
            }
            topic.rename(name).await?;
            if ended {
                topic.set_open(Openness::Closed).await?;
            }
            Ok(Said { message: None, thread: Some(thread.into()), calls: topic.calls })
        }
    }
}

async fn make(
    bridge: &TelegramBridge,
    chat: TgChat,
    name: String,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let said = |thread: TgThread, calls| Said { message: None, thread: Some(thread.into()), calls };
    let begun = bridge.store.begin(key, chat, bridge.now()).await.map_err(outcome::unwritten)?;
    match begun {
        Begun::Made(thread) => return Ok(said(thread, 0)),
        Begun::First | Begun::Said(_) => {}
        Begun::InDoubt { before, at } => {
            if let Some(thread) = made_before(bridge, chat, before, &name).await? {
                info!(%key, %chat, %thread, "a topic that was in doubt is there");
                keep(bridge, key, chat, thread, name).await?;
                return Ok(said(thread, 0));
            }
            let told = bridge.heard_at().is_some_and(|heard| heard > at);
            if !told && bridge.now() < at + UNTIL_IT_IS_TOLD {
                return Err(SayError::Later { after: LOOK_AGAIN_AFTER });
            }
        }
    }
    let create = CreateForumTopic { chat_id: chat, name: name.clone(), icon_color: None };
    match bridge.api.call(&create).await {
        Ok(topic) => {
            keep(bridge, key, chat, topic.message_thread_id, name).await?;
            Ok(said(topic.message_thread_id, 1))
        }
        Err(error) => {
            let error = outcome::unthreaded(bridge, error);
            let written = if error == SayError::InDoubt {
                bridge.store.doubted(key, bridge.now()).await
            } else if begun == Begun::First {
                bridge.store.not_said(key).await
            } else {
                Ok(())
            };
            written.map_err(outcome::unwritten)?;
            Err(error)
        }
    }
}

async fn made_before(
    bridge: &TelegramBridge,
    chat: TgChat,
    before: TgMessage,
    name: &str,
) -> Result<Option<TgThread>, SayError> {
    let found = bridge.store.nobodys_topic(chat, before, name.to_owned()).await;
    found.map_err(outcome::unwritten)
}

async fn keep(
    bridge: &TelegramBridge,
    key: DeliveryId,
    chat: TgChat,
    thread: TgThread,
    name: String,
) -> Result<(), SayError> {
    bridge.store.made(key, chat, thread, name).await.map_err(|error| {
        outcome::unwritten(error);
        SayError::InDoubt // it is there, and the next try finds it
    })
}

/// A topic that is there, and what was changed about it.
struct Topic<'a> {
    bridge: &'a TelegramBridge,
    chat: TgChat,
    thread: TgThread,
    seen: SeenTopic,
    calls: usize,
}

impl<'a> Topic<'a> {
    async fn load(
        bridge: &'a TelegramBridge,
        chat: TgChat,
        thread: TgThread,
    ) -> Result<Self, SayError> {
        let seen = bridge.store.seen_topic(chat, thread).await.map_err(outcome::unwritten)?;
        // One that nobody saw has no name that could be the right one already.
        let seen = seen.unwrap_or(SeenTopic { name: String::new(), openness: Openness::Open });
        Ok(Self { bridge, chat, thread, seen, calls: 0 })
    }

    async fn rename(&mut self, name: String) -> Result<(), SayError> {
        if self.seen.name == name {
            return Ok(());
        }
        let (chat_id, message_thread_id) = (self.chat, self.thread);
        self.change(&EditForumTopic { chat_id, message_thread_id, name: name.clone() }).await?;
        self.seen.name = name;
        self.keep().await
    }

    /// Closes or opens it; in private chats there is no such thing.
    async fn set_open(&mut self, openness: Openness) -> Result<(), SayError> {
        if self.seen.openness == openness || self.chat.is_private() {
            return Ok(());
        }
        let (chat_id, message_thread_id) = (self.chat, self.thread);
        match openness {
            Openness::Open => self.change(&ReopenForumTopic { chat_id, message_thread_id }).await?,
            Openness::Closed => {
                self.change(&CloseForumTopic { chat_id, message_thread_id }).await?;
            }
        }
        self.seen.openness = openness;
        self.keep().await
    }

    async fn change<M: Method>(&mut self, method: &M) -> Result<(), SayError> {
        self.calls += 1;
        match self.bridge.api.call(method).await {
            Ok(_) => Ok(()),
            Err(error) if is_done(&error) => Ok(()),
            Err(error) => Err(outcome::unthreaded(self.bridge, error)),
        }
    }

    async fn keep(&self) -> Result<(), SayError> {
        let kept = self.bridge.store.topic_is(self.chat, self.thread, self.seen.clone()).await;
        kept.map_err(outcome::unwritten)
    }
}

fn is_done(error: &CallError) -> bool {
    error.refusal() == Some(Refusal::TopicNotModified)
}

/// `◆ PD-285 import of timetables`: what needs a person stands in front, what passes in a turn does
/// not, since each new name is a message in the topic.
fn name_of(state: &ThreadState) -> String {
    let sign = match state.state {
        SessionLook::Waiting | SessionLook::NeedsDesk => "◆ ",
        SessionLook::Limited => "◐ ",
        SessionLook::Lost => "✕ ",
        SessionLook::Starting | SessionLook::Idle | SessionLook::Working | SessionLook::Ended => "",
    };
    let session = state.session.as_str();
    let visible = |c: &char| c.is_whitespace() || !is_unseen(*c);
    let title: String = state.title.chars().filter(visible).collect();
    let mut words = title.split_whitespace().peekable();
    words.next_if_eq(&session); // a title that begins with the name says it once
    let name = words.fold(format!("{sign}{session}"), |name, word| name + " " + word);
    shortened(&name, LONGEST_NAME, TextUnit::Utf16)
}

/// Telegram would drop it, and the name would never be the one that was asked for.
fn is_unseen(c: char) -> bool {
    c.is_control() || vigie_core::text::reveal(c.encode_utf8(&mut [0; 4])).hidden > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::utf16_len;
    use crate::{
        Options,
        api::{Api, Patience},
        store::topics,
    };
    use std::sync::{Arc, Mutex};
    use telegram_emulator::{AGENTS, Emulator, Fault, FaultKind, World};
    use vigie_core::{Timestamp, id::SessionName};

    const NAME: &str = "PD-285 night trains";

    fn state() -> ThreadState {
        let (title, since) = ("night trains".into(), Timestamp::default());
        let session = "PD-285".parse().unwrap();
        ThreadState { session, title, state: SessionLook::Idle, detail: None, since }
    }

    struct Desk {
        telegram: Emulator,
        bridge: Arc<TelegramBridge>,
        clock: Arc<Mutex<Timestamp>>,
        _folder: tempfile::TempDir,
    }

    impl Desk {
        fn start() -> Self {
            let telegram = Emulator::start(World::default());
            let folder = tempfile::tempdir().unwrap();
            let (token, base) = (telegram.token(), telegram.url());
            let (token, base) = (token.parse().unwrap(), base.parse().unwrap());
            let clock = Arc::new(Mutex::new(Timestamp::from_timestamp(1_796_000_000, 0).unwrap()));
            let shown = clock.clone();
            let options = Options {
                api: Api::new(token, base, Patience::default()).unwrap(),
                clock: Arc::new(move || *shown.lock().unwrap()),
                files: folder.path().into(),
                parts: None,
                commands: Vec::new(),
            };
            let bridge = TelegramBridge::open(&folder.path().join("t.db"), options).unwrap();
            Self { telegram, bridge, clock, _folder: folder }
        }

        fn pass(&self, seconds: i64) {
            *self.clock.lock().unwrap() += TimeDelta::seconds(seconds);
        }

        async fn show(&self, key: DeliveryId) -> Result<Said, SayError> {
            let spot = Spot { chat: TgChat(AGENTS), thread: None };
            show(&self.bridge, spot, &state(), key).await
        }

        /// Telegram answers nothing; whether it did it is the fault's matter.
        async fn doubt(&self, key: DeliveryId, fault: FaultKind) {
            self.telegram.fault(Fault::new("createForumTopic", fault));
            assert_eq!(self.show(key).await, Err(SayError::InDoubt));
        }

        /// What a poll tells of topics is written down.
        async fn told(&self) {
            for topic in self.telegram.topics(AGENTS) {
                let seen = move |db: &mut rusqlite::Connection| {
                    topics::topic_seen(db, AGENTS, topic.id, &topic.name, true)
                };
                self.bridge.store.run(seen).await.unwrap();
            }
            self.bridge.heard_all();
        }

        fn topics(&self) -> Vec<i64> {
            let topics = self.telegram.topics(AGENTS).into_iter();
            topics.filter(|topic| topic.name == NAME).map(|topic| topic.id).collect()
        }
    }

    fn key(number: u128) -> DeliveryId {
        DeliveryId::from_parts(Timestamp::default(), number)
    }

    fn thread(said: &Result<Said, SayError>) -> Option<i64> {
        said.as_ref().ok()?.thread.as_ref()?.as_str().parse().ok()
    }

    #[tokio::test]
    async fn a_topic_in_doubt_is_found_where_telegram_told_of_it() {
        let desk = Desk::start();
        desk.doubt(key(1), FaultKind::DropAfter).await;
        desk.pass(2);
        let early = desk.show(key(1)).await;
        assert_eq!(early, Err(SayError::Later { after: LOOK_AGAIN_AFTER }));
        desk.told().await;
        let found = desk.show(key(1)).await;
        assert_eq!(found.as_ref().map(|said| said.calls), Ok(0));
        assert_eq!(desk.topics(), [thread(&found).unwrap()]);
        assert_eq!(thread(&desk.show(key(1)).await), thread(&found));
        desk.telegram.assert_clean();
    }

    #[tokio::test]
    async fn a_topic_of_another_key_is_not_taken_for_it() {
        let desk = Desk::start();
        desk.doubt(key(1), FaultKind::DropBefore).await;
        let other = desk.show(key(2)).await;
        desk.pass(2);
        desk.told().await;
        let made = desk.show(key(1)).await;
        assert_ne!(thread(&made), thread(&other));
        assert_eq!(desk.topics().len(), 2);
    }

    #[tokio::test]
    async fn a_topic_nobody_told_of_is_made_in_the_end() {
        let desk = Desk::start();
        desk.doubt(key(1), FaultKind::DropBefore).await;
        desk.pass(59);
        let early = desk.show(key(1)).await;
        assert_eq!(early, Err(SayError::Later { after: LOOK_AGAIN_AFTER }));
        desk.pass(1);
        assert_eq!(desk.show(key(1)).await.map(|said| said.calls), Ok(1));
        assert_eq!(desk.topics().len(), 1);
    }

    fn name(state: SessionLook, title: &str) -> String {
        let session: SessionName = "PD-285".parse().unwrap();
        let since = Timestamp::default();
        name_of(&ThreadState { session, title: title.into(), state, detail: None, since })
    }

    #[test]
    fn only_what_matters_changes_a_name() {
        for (state, expected) in [
            (SessionLook::Starting, "PD-285 night trains"),
            (SessionLook::Idle, "PD-285 night trains"),
            (SessionLook::Working, "PD-285 night trains"),
            (SessionLook::Ended, "PD-285 night trains"),
            (SessionLook::Waiting, "◆ PD-285 night trains"),
            (SessionLook::NeedsDesk, "◆ PD-285 night trains"),
            (SessionLook::Limited, "◐ PD-285 night trains"),
            (SessionLook::Lost, "✕ PD-285 night trains"),
        ] {
            assert_eq!(name(state, " night \n\ttrains\u{200B}\u{202E} "), expected);
        }
    }

    #[test]
    fn a_name_fits_and_says_nothing_twice() {
        assert_eq!(name(SessionLook::Idle, ""), "PD-285");
        assert_eq!(name(SessionLook::Idle, "PD-285"), "PD-285");
        assert_eq!(name(SessionLook::Idle, "PD-285 trains"), "PD-285 trains");
        for title in ["word ".repeat(60), "🚂".repeat(200), "x".repeat(500)] {
            let name = name(SessionLook::Waiting, &title);
            assert!(utf16_len(&name) <= LONGEST_NAME && name.ends_with('…'), "{name}");
        }
    }
}
