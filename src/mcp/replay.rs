//! What was said on the streams of the older era, kept for a while: a client whose stream broke
//! comes back with the id of the last thing it got, and hears the rest. In memory and bounded;
//! what must outlast the daemon has a ticket.

use async_trait::async_trait;
use futures_util::stream;
use rmcp::{
    model::ServerJsonRpcMessage,
    transport::streamable_http_server::session::{
        EventStore, EventStoreError, EventStream, ServerSseMessage,
    },
};
use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::watch;

/// All that is kept, as it goes over the wire: some dozens of long transcripts.
const MOST_BYTES: usize = 16 << 20;
/// Small events cost memory too: about a kilobyte each.
const MOST_EVENTS: usize = 8192;

/// The name of the stream that no request began.
pub(super) fn common(session: &str) -> String {
    format!("{session}:common")
}

#[derive(Clone, Default)]
pub(super) struct Replay(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    streams: HashMap<String, Line>,
    /// Oldest first: which stream has one more event, and its size.
    order: VecDeque<(String, usize)>,
    bytes: usize,
}

/// What is kept of one stream.
struct Line {
    /// The number of the first event that is still here.
    first: u64,
    events: VecDeque<ServerSseMessage>,
    ended: Ended,
    /// The number of the next event: whoever follows is woken by it.
    next: watch::Sender<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    Yes,
}

impl Default for Line {
    fn default() -> Self {
        let (next, _) = watch::channel(0);
        Self { first: 0, events: VecDeque::new(), ended: Ended::No, next }
    }
}

/// What comes after an event.
enum After {
    Event(u64, ServerSseMessage),
    Wait(watch::Receiver<u64>),
    Nothing,
}

impl Replay {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().expect("nothing panics while it holds the events")
    }

    /// Whether everything after that event is still here.
    pub(super) fn knows(&self, id: &str) -> bool {
        let Some((stream, number)) = parse(id) else { return false };
        let kept = self.kept();
        let Some(line) = kept.streams.get(stream) else { return false };
        (line.first..=*line.next.borrow()).contains(&(number + 1))
    }

    /// Drops a stream: nobody can come back for it.
    pub(super) fn forget(&self, stream: &str) {
        self.kept().streams.remove(stream);
    }

    fn after(&self, stream: &str, number: u64) -> After {
        let kept = self.kept();
        let Some(line) = kept.streams.get(stream) else { return After::Nothing };
        let wanted = number + 1;
        let event = wanted.checked_sub(line.first).and_then(|at| usize::try_from(at).ok());
        match event.and_then(|at| line.events.get(at)) {
            Some(event) => After::Event(wanted, event.clone()),
            None if wanted < line.first || line.ended == Ended::Yes => After::Nothing,
            None => After::Wait(line.next.subscribe()),
        }
    }
}

impl Kept {
    fn push(&mut self, stream: &str, event: &ServerSseMessage) -> String {
        let size = event.message.as_deref().map_or(0, size);
        let line = self.streams.entry(stream.to_owned()).or_default();
        let number = *line.next.borrow();
        let id = format!("{stream}.{number}");
        let mut event = event.clone();
        event.event_id = Some(id.clone());
        // Only the stream of a request ends, with its answer.
        let answers = matches!(
            event.message.as_deref(),
            Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
        );
        if answers && !stream.ends_with(":common") {
            line.ended = Ended::Yes;
        }
        line.events.push_back(event);
        line.next.send_replace(number + 1);
        self.order.push_back((stream.to_owned(), size));
        self.bytes += size;
        while self.bytes > MOST_BYTES || self.order.len() > MOST_EVENTS {
            self.drop_oldest();
        }
        id
    }

    fn drop_oldest(&mut self) {
        let Some((stream, size)) = self.order.pop_front() else { return };
        self.bytes -= size;
        let Some(line) = self.streams.get_mut(&stream) else { return };
        line.events.pop_front();
        line.first += 1;
        if line.events.is_empty() && line.ended == Ended::Yes {
            self.streams.remove(&stream);
        }
    }
}

/// Splits an event's id into its stream and its number there.
fn parse(id: &str) -> Option<(&str, u64)> {
    let (stream, number) = id.rsplit_once('.')?;
    Some((stream, number.parse().ok()?))
}

/// Bytes of a message on the wire.
fn size(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written fails where it is sent, too.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

#[async_trait]
impl EventStore for Replay {
    async fn store_event(
        &self,
        stream: &str,
        event: &ServerSseMessage,
    ) -> Result<String, EventStoreError> {
        Ok(self.kept().push(stream, event))
    }

    async fn replay_events_after(&self, last: &str) -> Result<EventStream, EventStoreError> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "that event is not kept any more");
        let (stream, number) = parse(last).filter(|_| self.knows(last)).ok_or_else(unknown)?;
        let from = (self.clone(), stream.to_owned(), number);
        Ok(Box::pin(stream::unfold(from, |(replay, stream, number)| async move {
            loop {
                match replay.after(&stream, number) {
                    After::Event(number, event) => return Some((event, (replay, stream, number))),
                    After::Wait(mut next) => next.changed().await.ok()?,
                    After::Nothing => return None,
                }
            }
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt as _;
    use rmcp::model::{JsonRpcResponse, RequestId, ServerResult};
    use serde_json::{Value, json};

    fn notice(text: &str) -> ServerSseMessage {
        let message = json!({
            "jsonrpc": "2.0", "method": "notifications/message",
            "params": { "level": "info", "data": text }
        });
        ServerSseMessage::from_message(serde_json::from_value(message).unwrap())
    }

    fn answer() -> ServerSseMessage {
        let result = ServerResult::empty(());
        ServerSseMessage::from_message(ServerJsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: rmcp::model::JsonRpcVersion2_0,
            id: RequestId::Number(1),
            result,
        }))
    }

    fn text(event: &ServerSseMessage) -> Value {
        let message = serde_json::to_value(event.message.as_deref().unwrap()).unwrap();
        message["params"]["data"].clone()
    }

    #[tokio::test]
    async fn who_comes_back_hears_the_rest_and_what_is_still_to_come() {
        let replay = Replay::default();
        let first = replay.store_event("a", &notice("one")).await.unwrap();
        replay.store_event("b", &notice("of another stream")).await.unwrap();
        replay.store_event("a", &notice("two")).await.unwrap();
        let mut rest = replay.replay_events_after(&first).await.unwrap();
        assert_eq!(text(&rest.next().await.unwrap()), "two");
        let answer = answer();
        let (next, _) = tokio::join!(rest.next(), replay.store_event("a", &answer));
        let last = next.unwrap().event_id.unwrap();
        assert!(rest.next().await.is_none(), "an answer ends its stream");
        let mut nothing = replay.replay_events_after(&last).await.unwrap();
        assert!(nothing.next().await.is_none());
    }

    #[tokio::test]
    async fn what_is_not_kept_is_said_and_memory_is_bounded() {
        let replay = Replay::default();
        let large = notice(&"x".repeat(1 << 20));
        let first = replay.store_event("a", &large).await.unwrap();
        let mut last = first.clone();
        for _ in 0..2 * (MOST_BYTES >> 20) {
            last = replay.store_event("a", &large).await.unwrap();
        }
        assert!(replay.kept().bytes <= MOST_BYTES);
        assert!(replay.replay_events_after(&first).await.is_err());
        assert!(replay.knows(&last));
        for unknown in ["", "a", "a.9999", "b.0", "a.-1"] {
            assert!(!replay.knows(unknown), "{unknown}");
        }
        for number in 0..2 * MOST_EVENTS {
            replay.store_event(&format!("short {number}"), &answer()).await.unwrap();
        }
        let kept = replay.kept();
        assert!(kept.order.len() <= MOST_EVENTS && kept.streams.len() <= MOST_EVENTS + 1);
    }
}
