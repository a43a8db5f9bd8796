//! A model that does what the prompt tells it: a small Messages API on loopback, enough for a real
//! coding agent to work against, without any account.
//!
//! The newest user text with `=>` decides. What follows it on that line are the model's steps,
//! parted by ` then `, one per call: `=> bash ls then say done`. Where a prompt is not the test's to
//! write, [`Model::told`] says what is done about words in it.
//!
//! | step | what the model answers |
//! | --- | --- |
//! | `say TEXT` | text, and the turn ends |
//! | `slow SECONDS TEXT` | the same, dripped |
//! | `hang SECONDS` | nothing for so long |
//! | `bash COMMAND` | the tool `Bash` |
//! | `long COUNT TEXT` | the text so many times, numbered, a line each |
//! | `read PATH` | the tool `Read` |
//! | `write PATH TEXT` | the tool `Write` |
//! | `edit PATH OLD to NEW` | the tool `Edit` |
//! | `ask` | a question with three colours and one with several answers |
//! | `draft TEXT` | the tool `Write`, into the file the agent named for its plan |
//! | `plan` | the tool `ExitPlanMode` |
//! | `subagent STEP` | the tool `Agent`, with a script of one step |
//! | `call TOOL JSON` | any tool; in the JSON `->` stands for `=>`, and ` ; ` for ` then ` |
//! | `if TEXT ? STEP : STEP` | the first step when `TEXT` is in what came since it spoke last |
//! | `error STATUS` | this HTTP status, every time |
//! | `limited SECONDS STEP` | a usage limit that is over so long after it was first hit, then the step |
//! | `locked STEP` | 401 until [`Model::unlock`], then the step |
//! | `overloaded STEP` | 529 until [`Model::unlock`], then the step |
//!
//! After the last step the model repeats what its last tool gave it.

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::sleep};

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Pieces of a dripped answer.
const DRIPS: usize = 20;

/// The server; it stops when dropped.
pub struct Model {
    /// What the agent takes for the API's address.
    pub url: String,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

/// One request, in the order in which they came: 0 is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub number: usize,
    /// When it was here as a whole.
    pub at: Instant,
}

struct Shared {
    seen: Mutex<Seen>,
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct Seen {
    /// Before each answer to a conversation.
    thinks: Duration,
    /// Words, and what is done about a text with them; the newest first.
    told: Vec<(String, String)>,
    requests: Vec<Request>,
    /// When its limit was first hit.
    limited: Option<Instant>,
    unlocked: bool,
}

/// What answers came to, as the service counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Those from its memory among them.
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// Of every answer, without what comes from memory.
const INPUT_TOKENS: usize = 10;
const OUTPUT_TOKENS: usize = 20;
/// What goes into its memory, for five minutes and for an hour.
const WRITTEN_5M: usize = 8;
const WRITTEN_1H: usize = 4;

/// All answers that were given to the end, and what the service would be paid for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    pub answers: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

struct Request {
    at: Instant,
    /// When the last byte of the answer was handed to the connection.
    answered: Option<Instant>,
    body: Value,
    /// What came since the model spoke last, as JSON.
    news: String,
}

impl Shared {
    /// What a real service answers while it is so; `None`: it is no longer.
    #[expect(clippy::disallowed_methods, reason = "the service names the time of its reset")]
    fn refuses(&self, until: Until) -> Option<Response> {
        match until {
            Until::Unlocked => (!self.look().unlocked)
                .then(|| refusal(StatusCode::UNAUTHORIZED, "authentication_error", &[])),
            Until::Relieved => {
                let overloaded = StatusCode::from_u16(529).ok()?; // the service's own number
                (!self.look().unlocked).then(|| refusal(overloaded, "overloaded_error", &[]))
            }
            Until::Passed(_) if self.look().unlocked => None,
            Until::Passed(time) => {
                let since = *self.look().limited.get_or_insert_with(Instant::now);
                let left = time.checked_sub(since.elapsed()).filter(|left| !left.is_zero())?;
                let reset = SystemTime::now() + left;
                let reset = reset.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                // Source of the names: the headers that 2.1.332 reads.
                let headers = [
                    ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                    ("anthropic-ratelimit-unified-reset", reset.as_secs().to_string()),
                    ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                ];
                Some(refusal(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", &headers))
            }
        }
    }

    fn look(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn came(&self, body: &Value) -> usize {
        let at = Instant::now();
        let news = news(body);
        let mut seen = self.look();
        seen.requests.push(Request { at, answered: None, body: body.clone(), news });
        let number = seen.requests.len() - 1;
        drop(seen);
        self.changes.send_replace(());
        number
    }

    fn answered(&self, number: usize) {
        if let Some(request) = self.look().requests.get_mut(number) {
            request.answered = Some(Instant::now());
        }
        self.changes.send_replace(());
    }
}

impl Model {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { seen: Mutex::default(), changes: watch::Sender::new(()) });
        let router = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(count))
            .route("/", get(|| async { "" }))
            .with_state(shared.clone());
        let mut serving = JoinSet::new();
        // Who waits for an answer that never comes hears of it.
        serving.spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { url, shared, _serving: serving })
    }

    /// From now on it is silent so long before each answer to a conversation.
    pub fn thinks(&self, long: Duration) {
        self.shared.look().thinks = long;
    }

    /// From now on a text in which `words` stand is one with these steps. What was told last counts.
    pub fn told(&self, words: &str, steps: &str) {
        self.shared.look().told.insert(0, (words.into(), steps.into()));
    }

    /// Somebody is logged in from now on, and nothing is at its limit or has too much to do.
    pub fn unlock(&self) {
        self.shared.look().unlocked = true;
    }

    /// What all answers to requests came to in which `text` stands.
    pub fn used(&self, text: &str) -> Used {
        let mut used = Used::default();
        for request in &self.shared.look().requests {
            if request.answered.is_some() && request.body.to_string().contains(text) {
                let written = WRITTEN_5M + WRITTEN_1H;
                used.input_tokens += (INPUT_TOKENS + written + memory(&request.body)) as u64;
                used.output_tokens += OUTPUT_TOKENS as u64;
            }
        }
        used
    }

    /// What all answers of conversations came to in whose requests `text` stands.
    pub fn billed(&self, text: &str) -> Billed {
        let mut billed = Billed::default();
        for request in &self.shared.look().requests {
            let answered = request.answered.is_some() && !tools(&request.body).is_empty();
            if answered && request.body.to_string().contains(text) {
                billed.answers += 1;
                billed.input += INPUT_TOKENS as u64;
                billed.output += OUTPUT_TOKENS as u64;
                billed.cache_read += memory(&request.body) as u64;
                billed.cache_write_5m += WRITTEN_5M as u64;
                billed.cache_write_1h += WRITTEN_1H as u64;
            }
        }
        billed
    }

    /// How many requests without tools were answered: titles and the like.
    pub fn asides(&self) -> usize {
        let seen = self.shared.look();
        let aside = |one: &&Request| one.answered.is_some() && tools(&one.body).is_empty();
        seen.requests.iter().filter(aside).count()
    }

    /// Waits for a request of a conversation in whose news (what came since the model spoke last)
    /// `text` stands, and gives the first. Has no deadline of its own.
    pub async fn asked(&self, text: &str) -> Asked {
        self.wait(|seen| {
            let mut all = seen.requests.iter().enumerate();
            let found =
                all.find(|(_, one)| !tools(&one.body).is_empty() && one.news.contains(text));
            found.map(|(number, one)| Asked { number, at: one.at })
        })
        .await
    }

    /// Waits for the next request of a conversation. Has no deadline of its own.
    pub async fn asked_after(&self, before: Asked) -> Asked {
        self.wait(|seen| {
            let mut later = seen.requests.iter().enumerate().skip(before.number + 1);
            let found = later.find(|(_, one)| !tools(&one.body).is_empty());
            found.map(|(number, one)| Asked { number, at: one.at })
        })
        .await
    }

    /// What came in that request since the model spoke last, as JSON.
    pub fn news(&self, asked: Asked) -> String {
        self.shared
            .look()
            .requests
            .get(asked.number)
            .map(|one| one.news.clone())
            .unwrap_or_default()
    }

    /// All of that request, as JSON.
    pub fn whole(&self, asked: Asked) -> String {
        self.shared
            .look()
            .requests
            .get(asked.number)
            .map(|one| one.body.to_string())
            .unwrap_or_default()
    }

    /// Waits until that request has its whole answer. Has no deadline of its own.
    pub async fn answered(&self, asked: Asked) -> Instant {
        self.wait(|seen| seen.requests.get(asked.number)?.answered).await
    }

    async fn wait<T>(&self, mut look: impl FnMut(&Seen) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(found) = look(&self.shared.look()) {
                return found;
            }
            // The sender lives in `self`, so this cannot fail.
            let _ = changes.changed().await;
        }
    }

    /// What people said in the conversation as the model saw it last, in order.
    pub fn heard(&self) -> Vec<String> {
        let seen = self.shared.look();
        let last = seen.requests.iter().rfind(|one| !tools(&one.body).is_empty());
        last.map(|one| list(&one.body["messages"]).iter().flat_map(said).collect())
            .unwrap_or_default()
    }

    /// How often `text` stands in it.
    pub fn heard_times(&self, text: &str) -> usize {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let text = bare(text);
        self.heard().iter().map(|said| bare(said).matches(&text).count()).sum()
    }

    /// What tools gave back to the model, in all requests.
    pub fn results(&self) -> String {
        let seen = self.shared.look();
        let all = seen.requests.iter().flat_map(|one| list(&one.body["messages"]));
        all.filter_map(result).collect::<Vec<_>>().join("\n")
    }
}

async fn count(Json(request): Json<Value>) -> Json<Value> {
    Json(json!({ "input_tokens": memory(&request) }))
}

async fn messages(State(shared): State<Arc<Shared>>, Json(request): Json<Value>) -> Response {
    let number = shared.came(&request);
    let told = shared.look().told.clone();
    let answer = answer(&request, &told);
    let thinks = if tools(&request).is_empty() { Duration::ZERO } else { shared.look().thinks };
    sleep(thinks + answer.silence).await;
    if let Some(refused) = answer.until.and_then(|until| shared.refuses(until)) {
        return refused;
    }
    if let Some(status) = answer.status {
        let error =
            json!({ "type": "error", "error": { "type": "api_error", "message": "told to fail" } });
        return (status, Json(error)).into_response();
    }
    let model = request["model"].clone();
    let usage = json!({ "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS,
        "cache_creation_input_tokens": WRITTEN_5M + WRITTEN_1H,
        "cache_creation": { "ephemeral_5m_input_tokens": WRITTEN_5M,
            "ephemeral_1h_input_tokens": WRITTEN_1H },
        "cache_read_input_tokens": memory(&request) });
    let message = |content: Vec<Value>, stop: Value| {
        json!({ "id": format!("msg_{:016x}", rand::random::<u64>()), "type": "message", "role": "assistant",
            "model": model, "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage })
    };
    let stop = if answer.content["type"] == "text" { "end_turn" } else { "tool_use" };
    if request["stream"] != true {
        shared.answered(number);
        return Json(message(vec![answer.content], json!(stop))).into_response();
    }
    let (empty, parts) = parts(&answer.content);
    let pause = answer.dripped / u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let mut events = vec![
        (
            Duration::ZERO,
            json!({ "type": "message_start", "message": message(vec![], Value::Null) }),
        ),
        (
            Duration::ZERO,
            json!({ "type": "content_block_start", "index": 0, "content_block": empty }),
        ),
    ];
    events.extend(parts.into_iter().map(|delta| {
        (pause, json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
    }));
    let ends = [
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "usage": usage,
            "delta": { "stop_reason": stop, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ];
    events.extend(ends.map(|end| (Duration::ZERO, end)));
    let body = stream::iter(events).then(move |(pause, event)| {
        let shared = shared.clone();
        async move {
            sleep(pause).await;
            let name = event["type"].as_str().unwrap_or_default();
            if name == "message_stop" {
                shared.answered(number);
            }
            Ok::<_, Infallible>(Bytes::from(format!("event: {name}\ndata: {event}\n\n")))
        }
    });
    let request = format!("req_{:016x}", rand::random::<u64>());
    let headers = [(CONTENT_TYPE, "text/event-stream".to_owned()), (REQUEST_ID, request)];
    (headers, Body::from_stream(body)).into_response()
}

fn refusal(status: StatusCode, kind: &str, headers: &[(&'static str, String)]) -> Response {
    let error = json!({ "type": "error", "error": { "type": kind, "message": "told to refuse" } });
    let mut response = (status, Json(error)).into_response();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(*name, value);
        }
    }
    response
}

struct Answer {
    content: Value,
    silence: Duration,
    dripped: Duration,
    status: Option<StatusCode>,
    until: Option<Until>,
}

/// Until when it refuses.
#[derive(Clone, Copy)]
enum Until {
    Passed(Duration),
    Unlocked,
    /// It has not too much to do any more.
    Relieved,
}

impl From<Value> for Answer {
    fn from(content: Value) -> Self {
        Self {
            content,
            silence: Duration::ZERO,
            dripped: Duration::ZERO,
            status: None,
            until: None,
        }
    }
}

fn answer(request: &Value, told: &[(String, String)]) -> Answer {
    let messages = list(&request["messages"]);
    // Titles and summaries are asked without tools; some want JSON.
    if tools(request).is_empty() {
        return text(r#"{"title":"A title"}"#).into();
    }
    let script = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let mut said = said(message).into_iter().rev();
        let script = said.find_map(|text| {
            let told = told.iter().find(|(words, _)| text.contains(words));
            told.map(|(_, steps)| steps.clone())
                .or_else(|| Some(text.rsplit_once("=>")?.1.to_owned()))
        });
        script.map(|script| (at, script))
    });
    let Some((at, script)) = script else { return text("nothing to do").into() };
    let line = script.lines().next().unwrap_or_default();
    let line = line.split("</").next().unwrap_or_default().trim();
    let done = messages[at + 1..].iter().filter(|message| message["role"] == "assistant").count();
    if let Some(step) = line.split(" then ").nth(done) {
        return play(step.trim(), request);
    }
    let last = messages.iter().rev().find_map(result).unwrap_or_default();
    text(&format!("the tool said: {last}")).into()
}

fn play(step: &str, request: &Value) -> Answer {
    let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let seconds = || Duration::from_secs_f64(first.parse().unwrap_or(1.0));
    match verb {
        "say" => text(rest).into(),
        "slow" => {
            Answer { dripped: seconds(), ..text(&format!("{more}{}", " .".repeat(DRIPS))).into() }
        }
        "long" => {
            let lines =
                (1..=first.parse().unwrap_or(1)).map(|line: usize| format!("{more} #{line}."));
            text(&lines.collect::<Vec<_>>().join("\n\n")).into()
        }
        "hang" => Answer { silence: seconds(), ..text("at last").into() },
        "bash" => tool("Bash", &json!({ "command": rest, "description": "A command" })).into(),
        "read" => tool("Read", &json!({ "file_path": first })).into(),
        "write" => {
            tool("Write", &json!({ "file_path": first, "content": format!("{more}\n") })).into()
        }
        "edit" => {
            let (old, new) = more.split_once(" to ").unwrap_or((more, ""));
            tool("Edit", &json!({ "file_path": first, "old_string": old, "new_string": new }))
                .into()
        }
        "ask" => tool(
            "AskUserQuestion",
            &json!({ "questions": [
                question("Which colour?", "Colour", &["Red", "Green", "Blue"], false),
                question("What else?", "Extras", &["Salt", "Pepper"], true),
            ]}),
        )
        .into(),
        "draft" => {
            tool("Write", &json!({ "file_path": plan_file(request), "content": rest })).into()
        }
        "plan" => tool("ExitPlanMode", &json!({ "plan": "# The plan\n\n1. Begin\n2. End" })).into(),
        "subagent" => {
            let name = if tools(request).contains(&"Agent") { "Agent" } else { "Task" };
            tool(
                name,
                &json!({ "description": "A helper", "subagent_type": "general-purpose",
                "prompt": format!("=> {rest}") }),
            )
            .into()
        }
        "call" => {
            let input = more.replace("->", "=>").replace(" ; ", " then ");
            match serde_json::from_str(&input) {
                Ok(input) => tool(first, &input).into(),
                Err(error) => text(&format!("{more} is no JSON: {error}")).into(),
            }
        }
        "if" => {
            let branches = rest.split_once(" ? ");
            let branches =
                branches.and_then(|(words, both)| Some((words, both.split_once(" : ")?)));
            let Some((words, (yes, no))) = branches else {
                return text("an `if` has two steps").into();
            };
            play(if news(request).contains(words) { yes } else { no }, request)
        }
        "limited" => {
            let until =
                first.parse().ok().map(|seconds| Until::Passed(Duration::from_secs(seconds)));
            Answer { until, ..play(more, request) }
        }
        "overloaded" => Answer { until: Some(Until::Relieved), ..play(rest, request) },
        "locked" => Answer { until: Some(Until::Unlocked), ..play(rest, request) },
        "error" => Answer { status: first.parse().ok().and_then(status), ..text("").into() },
        _ => text(&format!("no step is called {verb}")).into(),
    }
}

/// What came since the model spoke last, as JSON.
fn news(request: &Value) -> String {
    let messages = list(&request["messages"]);
    let since = messages.iter().rposition(|message| message["role"] == "assistant");
    json!(&messages[since.map_or(0, |at| at + 1)..]).to_string()
}

fn status(number: u16) -> Option<StatusCode> {
    StatusCode::from_u16(number).ok()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn tool(name: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": format!("toolu_{:016x}", rand::random::<u64>()), "name": name, "input": input })
}

/// Where the agent wants its plan, as it says between its other words to the model.
fn plan_file(request: &Value) -> String {
    let all = request.to_string();
    let mut ends = all.match_indices(".md").map(|(at, _)| at);
    let path = |end: usize| {
        let from = all[..end].rfind(|c: char| c.is_whitespace() || "\"'`\\".contains(c))? + 1;
        all[from..end].contains("/plans/").then(|| all[from..end + 3].to_owned())
    };
    ends.find_map(path).unwrap_or_default()
}

fn question(text: &str, header: &str, labels: &[&str], multiple: bool) -> Value {
    let options: Vec<_> = labels
        .iter()
        .map(|label| json!({ "label": label, "description": format!("{label} it is") }))
        .collect();
    json!({ "question": text, "header": header, "multiSelect": multiple, "options": options })
}

/// The block as it begins, and what is streamed of it.
fn parts(content: &Value) -> (Value, Vec<Value>) {
    if content["type"] == "text" {
        let letters: Vec<char> = content["text"].as_str().unwrap_or_default().chars().collect();
        let size = letters.len().div_ceil(DRIPS).max(1);
        let mut deltas: Vec<_> = letters
            .chunks(size)
            .map(|part| json!({ "type": "text_delta", "text": part.iter().collect::<String>() }))
            .collect();
        if deltas.is_empty() {
            deltas.push(json!({ "type": "text_delta", "text": "" }));
        }
        return (text(""), deltas);
    }
    let mut empty = content.clone();
    empty["input"] = json!({});
    let delta = json!({ "type": "input_json_delta", "partial_json": content["input"].to_string() });
    (empty, vec![delta])
}

/// A person's texts in one message, without what the agent adds for the model.
fn said(message: &Value) -> Vec<String> {
    if message["role"] != "user" {
        return vec![];
    }
    let texts = match &message["content"] {
        Value::String(text) => vec![text.clone()],
        content => list(content)
            .iter()
            .filter_map(|block| block["text"].as_str().map(str::to_owned))
            .collect(),
    };
    texts.into_iter().filter(|text| !text.trim_start().starts_with("<system-reminder>")).collect()
}

/// What a tool gave back in this message.
fn result(message: &Value) -> Option<String> {
    let block = list(&message["content"]).iter().find(|block| block["type"] == "tool_result")?;
    Some(match &block["content"] {
        Value::String(text) => text.clone(),
        content => list(content).iter().filter_map(|part| part["text"].as_str()).collect(),
    })
}

fn tools(request: &Value) -> Vec<&str> {
    list(&request["tools"]).iter().filter_map(|tool| tool["name"].as_str()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Tokens of what was said before, as good as any count.
fn memory(request: &Value) -> usize {
    request["messages"].to_string().len() / 4
}
