//! The guard, the login and the API, over real loopback and the real socket.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod of_web {
    mod roles;
}
mod support {
    pub(crate) mod outside;
}

use axum::{
    Extension, Router, body::Bytes, extract::Request as Asked, http::Extensions, routing::get,
};
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, net::SocketAddr, ops::ControlFlow, sync::Arc, time::Duration};
use support::outside::nothing_outside;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::mpsc, sync::watch};
use vigie::{
    clock::Clock,
    config::{Config, Surroundings},
    hub::{Hub, Mail},
    tasks::{Finish, Tasks},
    web::{
        self, Caller, Outside, Parts, Peer, PhoneMount,
        client::{Client, ClientError},
        shapes::{
            Done, Event, LinkShape, LoginShape, MadeToken, MailShape, NewLink, NewPairing,
            NewToken, PairingShape, PeopleShape, StatusShape, TokenShape,
        },
    },
};
use vigie_core::{
    Timestamp,
    bridge::Room,
    caller::{Known, MailQuery, Principal, TokenHash, TokenRow, TokenScope},
    command::{BridgeView, Command, People, Refusal, Reply, Status},
    id::{BridgeName, ChatId, HumanId, MailId, PairingCode, TokenId},
    mail::{Mail as Letter, MailState, Recipient, Sender},
    state::{ChatRow, ChatState},
};

/// A web part with a hub that answers what a test needs.
struct Home {
    data: tempfile::TempDir,
    at: SocketAddr,
    tasks: Tasks,
    clock: Clock,
    newest: watch::Sender<u64>,
}

const SETTINGS: &str = r#"
[web]
listen = "127.0.0.1:0"
hosts = ["harbour.example.org"]

[[human]]
id = "ines"
name = "Inès Caradec"
role = "owner"

[[human]]
id = "tomas"
role = "viewer"
phone = false
"#;

impl Home {
    async fn start() -> Self {
        Self::start_with(|_| Peer::Ours).await
    }

    async fn start_with(whose: fn(u32) -> Peer) -> Self {
        let data = tempfile::tempdir().unwrap();
        let around = Surroundings {
            home: data.path().into(),
            data: data.path().into(),
            config: "config.toml".into(),
            user: "ines".into(),
            shell: "/bin/sh".into(),
            claude: None,
        };
        let config = Config::parse(SETTINGS, &around).unwrap();
        let (tasks, clock) = (Tasks::new(), Clock::fixed(Timestamp::default()));
        let (newest, seen) = watch::channel(3);
        let outside = Outside {
            newest: seen,
            events: Arc::new(|after, most| Box::pin(async move { Ok(events(after, most)) })),
            mail: Arc::new(|query| Box::pin(async move { Ok(vec![letter(&query)]) })),
            invite: Arc::new(|bridge| {
                let link = format!("https://{bridge}.example.org/quay_bot");
                Box::pin(async move { Some(link) })
            }),
            whose,
            assets: assets(),
            phone: Some(phone()),
            ..nothing_outside(hub(&tasks))
        };
        let parts = Parts {
            config: &config,
            data: data.path(),
            outside,
            clock: clock.clone(),
            tasks: tasks.clone(),
        };
        let at = web::start(parts).await.unwrap().listening;
        Self { data, at, tasks, clock, newest }
    }

    fn desk(&self) -> Client {
        Client::new(self.data.path())
    }

    async fn link(&self, human: &str) -> LinkShape {
        self.desk().post("/links", &NewLink { human: Some(human.into()) }).await.unwrap()
    }

    /// Signs in and returns the cookie.
    async fn sign_in(&self, human: &str) -> String {
        self.sign_in_whole(human).await.0
    }

    /// Signs in and returns the cookie and the pass.
    async fn sign_in_whole(&self, human: &str) -> (String, String) {
        let code = self.link(human).await.code;
        let answer = self.ask(self.form(&code)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
        let page = std::str::from_utf8(answer.body()).unwrap();
        let pass = page.split("data-pass=\"").nth(1).unwrap().split('"').next().unwrap();
        (cookie.split(';').next().unwrap().to_owned(), pass.to_owned())
    }

    fn origin(&self) -> String {
        format!("http://{}", self.at)
    }

    fn get(&self, path: &str) -> hyper::http::request::Builder {
        Request::get(path).header(header::HOST, self.at.to_string())
    }

    fn form(&self, code: &str) -> Request<Full<Bytes>> {
        Request::post("/login")
            .header(header::HOST, self.at.to_string())
            .header(header::ORIGIN, self.origin())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::USER_AGENT, "a test")
            .body(Full::from(format!("code={code}")))
            .unwrap()
    }

    async fn ask(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        let stream = TcpStream::connect(self.at).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let work = async move {
            let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
            Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
        };
        let both = futures_util::future::join(work, connection);
        tokio::time::timeout(Duration::from_secs(10), both).await.expect("an answer in time").0
    }
}

fn empty(builder: hyper::http::request::Builder) -> Request<Full<Bytes>> {
    builder.body(Full::default()).unwrap()
}

/// A token for reading, which the hub knows.
const READER: &str = "vgt_reader";

fn reader() -> Known {
    let token = TokenId::from_parts(Timestamp::default(), 1);
    Known {
        principal: Principal::Client { token },
        name: "watcher".into(),
        scopes: [TokenScope::Read].into(),
        run: None,
    }
}

fn hub(tasks: &Tasks) -> Hub {
    let (mailbox, mut mail) = mpsc::channel(4);
    tasks.start("hub", |stop| async move {
        loop {
            let next =
                tokio::select! { next = mail.recv() => next, () = stop.cancelled() => return };
            let (request, answer) = match next {
                Some(Mail::Request { request, answer }) => (request, answer),
                Some(Mail::Known { token, answer }) => {
                    answer.send((token == TokenHash::of(READER)).then(reader)).unwrap();
                    continue;
                }
                Some(_) | None => return,
            };
            let reply = match request.what {
                Command::Status => Ok(Reply::Status(Status {
                    sessions: Vec::new(),
                    waiting: Vec::new(),
                    pending_deliveries: 1,
                    failed_deliveries: Vec::new(),
                    bridges: vec![BridgeView {
                        name: BridgeName::new("crows"),
                        heard: None,
                        trouble: Some("they sleep".into()),
                        chats: 2,
                        pending: 1,
                    }],
                    problems: Vec::new(),
                })),
                Command::Sessions => Ok(Reply::Sessions(Vec::new())),
                Command::Runs(_) => Ok(Reply::Runs(Vec::new())),
                Command::Stop { session } => Ok(Reply::Done {
                    words: format!("{session} by {} over {}", request.by, request.via),
                }),
                Command::Pair { human, code } => Ok(Reply::Pairing {
                    code,
                    human: human.map_or(request.by, HumanId::new),
                    name: "Inès Caradec".into(),
                    until: Timestamp::default(),
                    bridges: vec![BridgeName::new("crows")],
                }),
                Command::People => Ok(Reply::People(People {
                    identities: Vec::new(),
                    chats: vec![ChatRow {
                        bridge: BridgeName::new("crows"),
                        chat: ChatId::new("-7"),
                        room: Room::Forum,
                        by: HumanId::new("ines"),
                        state: ChatState::Shut {
                            reason: "thrown out".into(),
                            since: Timestamp::default(),
                        },
                        threadless: None,
                        opened: None,
                        readers: BTreeSet::new(),
                    }],
                })),
                Command::AddToken { name, hash, scopes } => Ok(Reply::Tokens(vec![TokenRow {
                    // So that a test sees what was told.
                    name: format!("{name} {}", hash.0),
                    scopes,
                    ..token(None)
                }])),
                Command::Tokens => {
                    Ok(Reply::Tokens(vec![token(Some(Timestamp::default())), token(None)]))
                }
                Command::RevokeToken { name } => {
                    Ok(Reply::Done { words: format!("{name} is over") })
                }
                Command::Unpair { bridge, id } => {
                    Ok(Reply::Done { words: format!("{id}@{bridge}") })
                }
                other => Err(Refusal::BadName(format!("{other:?}"))),
            };
            let _ = answer.send(reply);
        }
    });
    Hub::new(mailbox)
}

fn token(revoked: Option<Timestamp>) -> TokenRow {
    TokenRow {
        id: TokenId::from_parts(Timestamp::default(), 7),
        name: "ci".into(),
        hash: TokenHash("0".repeat(64)),
        scopes: TokenScope::ALL.into(),
        by: HumanId::new("ines"),
        made: Timestamp::default(),
        revoked,
    }
}

/// A message that says what was asked for.
fn letter(query: &MailQuery) -> Letter {
    let id = MailId::from_parts(Timestamp::default(), 1);
    Letter {
        id,
        number: 7,
        from: Sender::Human { human: HumanId::new("ines") },
        to: Recipient::Humans,
        thread: query.thread.unwrap_or(id),
        reply_to: None,
        batch: id,
        text: format!("{:?} {:?} {:?} {}", query.with, query.words, query.before, query.most),
        key: None,
        sent: Timestamp::default(),
        hops: 0,
        depth: 0,
        answers: None,
        tries: 0,
        state: MailState::Dead { why: "it is old".into(), at: Timestamp::default() },
    }
}

fn events(after: u64, most: usize) -> Vec<Event> {
    let event = |seq| Event {
        seq,
        at: Timestamp::default(),
        kind: "started".into(),
        session: None,
        gate: None,
        human: None,
        detail: json!({ "number": seq }),
    };
    (after + 1..=5).take(most).map(event).collect()
}

#[derive(Clone)]
struct Name(String);

fn assets() -> Router {
    Router::new().route("/{name}", get(async |request: Asked| request.uri().path().to_owned()))
}

async fn broken() -> String {
    panic!("a rule of ours broke")
}

fn phone() -> PhoneMount {
    let page = async |Extension(Name(name)): Extension<Name>| format!("the phone of {name}");
    PhoneMount {
        router: Router::new().route("/", get(page)).route("/broken", get(broken)),
        login_page: |message| format!("login: {}", message.unwrap_or("ask")),
        person: |caller: &Caller, extensions: &mut Extensions| {
            extensions.insert(Name(caller.name.clone()));
        },
    }
}

#[tokio::test]
async fn another_name_for_this_machine_is_refused() {
    let home = Home::start().await;
    for host in ["evil.example.org", "evil.example.org:7285", "127.0.0.1:1", ""] {
        let answer = home.ask(empty(Request::get("/healthz").header(header::HOST, host))).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{host}");
        let shape: Value = serde_json::from_slice(answer.body()).unwrap();
        assert_eq!(shape["code"], "wrong_host");
    }
    for host in [home.at.to_string(), "harbour.example.org".into()] {
        let answer = home.ask(empty(Request::get("/healthz").header(header::HOST, &host))).await;
        assert_eq!(answer.status(), StatusCode::OK, "{host}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_a_page_to_who_looks_at_pages() {
    let home = Home::start().await;
    let cookie = home.sign_in("ines").await;
    for (path, words) in [
        ("/nothing", "There is nothing at this address"),
        ("/api/v1/nothing", "There is nothing at this address"),
        ("/ledger?days=-1", "days: invalid digit found in string"),
        ("/audit?before=%3Cscript%3E", "before: invalid digit found in string"),
        ("/sessions/%FF", "The request cannot be read"),
        ("/logout", "This address does not take that"),
    ] {
        let request = home.get(path).header(header::COOKIE, &cookie);
        let answer = home.ask(empty(request.header(header::ACCEPT, "text/html,*/*"))).await;
        assert!(answer.status().is_client_error(), "{path}: {}", answer.status());
        let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap();
        assert!(kind.starts_with("text/html"), "{path}: {kind}");
        let page = std::str::from_utf8(answer.body()).unwrap();
        assert!(page.contains(words) && page.contains("href=\"/board\""), "{path}: {page}");
        assert!(!page.contains("<script"), "{path}: {page}");
    }
    let request = Request::get("/board").header(header::HOST, "evil.example.org");
    let answer = home.ask(empty(request.header(header::ACCEPT, "text/html"))).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(std::str::from_utf8(answer.body()).unwrap().contains("put the name into `hosts`"));
}

#[tokio::test]
async fn a_page_of_somebody_else_writes_nothing() {
    let home = Home::start().await;
    let (cookie, pass) = home.sign_in_whole("ines").await;
    let stop = |origin: Option<&str>| {
        let request = Request::post("/api/v1/sessions/PD-285/stop")
            .header(header::HOST, home.at.to_string())
            .header("x-vigie-pass", &pass)
            .header(header::COOKIE, &cookie);
        empty(match origin {
            Some(origin) => request.header(header::ORIGIN, origin),
            None => request,
        })
    };
    let other_port = "http://127.0.0.1:3000";
    for origin in [None, Some("null"), Some("http://evil.example.org"), Some(other_port)] {
        assert_eq!(home.ask(stop(origin)).await.status(), StatusCode::FORBIDDEN, "{origin:?}");
    }
    let answer = home.ask(stop(Some(&home.origin()))).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let done: Done = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(done.words, "PD-285 by ines over the web");
}

#[tokio::test]
async fn a_cookie_alone_reads_and_changes_nothing() {
    let home = Home::start().await;
    let (cookie, pass) = home.sign_in_whole("ines").await;
    let (_, others) = home.sign_in_whole("tomas").await;
    let get = home.get("/api/v1/status").header(header::COOKIE, &cookie);
    assert_eq!(home.ask(empty(get)).await.status(), StatusCode::OK);
    for (shown, status) in [
        (None, StatusCode::FORBIDDEN),
        (Some(&others), StatusCode::FORBIDDEN),
        (Some(&cookie), StatusCode::FORBIDDEN),
        (Some(&pass), StatusCode::OK),
    ] {
        let mut request = Request::post("/api/v1/sessions/PD-285/stop")
            .header(header::HOST, home.at.to_string())
            .header(header::ORIGIN, home.origin())
            .header(header::COOKIE, &cookie);
        if let Some(shown) = shown {
            request = request.header("x-vigie-pass", shown);
        }
        let answer = home.ask(empty(request)).await;
        assert_eq!(answer.status(), status, "{shown:?}");
        if status == StatusCode::FORBIDDEN {
            assert!(std::str::from_utf8(answer.body()).unwrap().contains("no_pass"));
        }
    }
}

#[tokio::test]
async fn a_request_that_panics_ends_nothing_but_itself() {
    let home = Home::start().await;
    let cookie = home.sign_in("ines").await;
    let get = |path: &str| empty(home.get(path).header(header::COOKIE, &cookie));
    let answer = home.ask(get("/phone/broken")).await;
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let shape: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(shape["code"], "internal");
    assert_eq!(home.ask(get("/phone")).await.status(), StatusCode::OK);
    assert!(!home.tasks.stopping().is_cancelled());
}

#[tokio::test]
async fn strangers_take_no_place_from_anybody() {
    let home = Home::start().await;
    let cookie = home.sign_in("ines").await;
    let mut strangers = Vec::new();
    for _ in 0..270 {
        let mut stream = TcpStream::connect(home.at).await.unwrap();
        let ask = format!("GET /assets/desk.js HTTP/1.1\r\nhost: {}\r\n\r\n", home.at);
        let _ = stream.write_all(ask.repeat(20).as_bytes()).await; // some are hung up on meanwhile
        strangers.push(stream);
    }
    let answer = home.ask(empty(home.get("/phone").header(header::COOKIE, &cookie))).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let code = home.link("tomas").await.code;
    assert_eq!(home.ask(home.form(&code)).await.status(), StatusCode::OK);
    drop(strangers);
}

#[tokio::test]
async fn every_answer_carries_the_policy() {
    let home = Home::start().await;
    for path in ["/healthz", "/login", "/phone", "/api/v1/status", "/nothing", "/assets/look.css"] {
        let answer = home.ask(empty(home.get(path))).await;
        let header = |name: header::HeaderName| answer.headers()[name].to_str().unwrap().to_owned();
        let policy = header(header::CONTENT_SECURITY_POLICY);
        for part in [
            "default-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(header(header::REFERRER_POLICY), "same-origin", "{path}");
    }
}

#[tokio::test]
async fn who_is_not_signed_in_sees_the_login_and_nothing_else() {
    let home = Home::start().await;
    for path in ["/", "/phone", "/phone/x", "/nothing"] {
        let answer = home.ask(empty(home.get(path))).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
        assert_eq!(answer.headers()[header::LOCATION], "/login");
    }
    for cookie in ["vigie_1=x".to_owned(), format!("vigie_{}={}", home.at.port(), "0".repeat(64))] {
        let answer =
            home.ask(empty(home.get("/api/v1/status").header(header::COOKIE, cookie))).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert!(std::str::from_utf8(answer.body()).unwrap().contains("vigie login"));
    }
    let answer = home.ask(empty(home.get("/assets/look.css"))).await;
    assert_eq!(answer.body(), "/look.css", "style is there before the login");
}

#[tokio::test]
async fn looking_at_a_link_does_not_use_it_up_and_using_it_does() {
    let home = Home::start().await;
    let link = home.link("ines").await;
    let path = link.url.strip_prefix(&home.origin()).unwrap();
    for _ in 0..2 {
        let page = home.ask(empty(home.get(path))).await;
        assert_eq!(page.status(), StatusCode::OK);
        let code = link.code.replace('-', "");
        assert!(std::str::from_utf8(page.body()).unwrap().contains(&format!("value=\"{code}\"")));
    }
    let answer = home.ask(home.form(&link.code)).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let page = home.ask(empty(home.get("/phone").header(header::COOKIE, cookie))).await;
    assert_eq!(page.body(), "the phone of Inès Caradec");

    let again = home.ask(home.form(&link.code)).await;
    assert_eq!(again.status(), StatusCode::FORBIDDEN);
    assert!(std::str::from_utf8(again.body()).unwrap().contains("was used at 00:00 UTC"));
}

#[tokio::test]
async fn a_link_ends_after_ten_minutes() {
    let home = Home::start().await;
    let link = home.link("ines").await;
    home.clock.advance(Duration::from_mins(10));
    assert_eq!(home.ask(home.form(&link.code)).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn guessing_is_stopped_and_a_right_code_always_counts() {
    let home = Home::start().await;
    for _ in 0..10 {
        assert_eq!(home.ask(home.form("guess")).await.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(home.ask(home.form("guess")).await.status(), StatusCode::TOO_MANY_REQUESTS);
    let code = home.link("ines").await.code;
    assert_eq!(home.ask(home.form(&code)).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn markup_in_a_link_stays_out_of_the_page() {
    let home = Home::start().await;
    let page = home.ask(empty(home.get("/login?token=%22%3E%3Cscript%3E"))).await;
    assert!(!std::str::from_utf8(page.body()).unwrap().contains("<script"));
}

#[tokio::test]
async fn a_login_is_listed_and_taken_back_at_the_desk() {
    let home = Home::start().await;
    let cookie = home.sign_in("ines").await;
    let logins: Vec<LoginShape> = home.desk().get("/logins").await.unwrap();
    assert_eq!((logins[0].human.as_str(), logins[0].device.as_str()), ("ines", "a test"));

    let _: Done = home.desk().delete(&format!("/logins/{}", logins[0].id)).await.unwrap();
    let answer = home.ask(empty(home.get("/api/v1/status").header(header::COOKIE, cookie))).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_stream_ends_with_its_login() {
    let home = Home::start().await;
    let cookie = home.sign_in("ines").await;
    let logins: Vec<LoginShape> = home.desk().get("/logins").await.unwrap();
    let stream = TcpStream::connect(home.at).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let story = async {
        let request = empty(home.get("/api/v1/events?after=0").header(header::COOKIE, cookie));
        let told = sender.send_request(request).await.unwrap();
        assert_eq!(told.status(), StatusCode::OK);
        let _: Done = home.desk().delete(&format!("/logins/{}", logins[0].id)).await.unwrap();
        told.into_body().collect().await.unwrap(); // by itself it would never end
        drop(sender);
    };
    let both = futures_util::future::join(story, connection);
    tokio::time::timeout(Duration::from_secs(10), both).await.expect("the stream ends").1.unwrap();
}

#[tokio::test]
async fn a_refusal_comes_with_its_hint_and_status() {
    let home = Home::start().await;
    let error = home.desk().get::<Value>("/sessions/PD-1").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no session PD-1");
    assert_eq!(error.hint().unwrap(), "`vigie sessions` lists them; `vigie new NAME` starts one.");
    let error =
        home.desk().post::<_, Value>("/sessions", &json!({ "nam": "x" })).await.unwrap_err();
    assert!(error.to_string().contains("unknown field `nam`"), "{error}");
    let error = home.desk().get::<Value>("/nothing").await.unwrap_err();
    assert_eq!(error.to_string(), "there is nothing at this address");
}

#[tokio::test]
async fn events_come_in_order_from_where_the_reader_was() {
    let home = Home::start().await;
    let cookie = home.sign_in("ines").await;
    let far = home.get("/api/v1/events?after=9223372036854775807").header(header::COOKIE, cookie);
    assert_eq!(home.ask(empty(far)).await.status(), StatusCode::BAD_REQUEST);
    let mut seen = Vec::new();
    let read = |line: &[u8]| {
        let event: Event = serde_json::from_slice(line).unwrap();
        seen.push(event.seq);
        if event.seq == 3 {
            home.newest.send(5).unwrap(); // more happens while the reader waits
        }
        if event.seq == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let lines = home.desk();
    let follow = lines.lines("/events?after=1", read);
    tokio::time::timeout(Duration::from_secs(10), follow).await.unwrap().unwrap();
    assert_eq!(seen, [2, 3, 4, 5]);
}

#[tokio::test]
async fn an_event_stream_ends_with_vigie() {
    let home = Home::start().await;
    let lines = home.desk();
    let mut first = true;
    let stop = home.tasks.clone();
    let follow = lines.lines("/events?after=4", |_| {
        assert!(std::mem::take(&mut first), "there is one event");
        stop.stop();
        ControlFlow::Continue(())
    });
    tokio::time::timeout(Duration::from_secs(10), follow).await.unwrap().unwrap();
}

#[tokio::test]
async fn down_stops_everything_and_leaves_nobody_waiting() {
    let home = Home::start().await;
    let _: Done = home.desk().post("/down", &json!({})).await.unwrap();
    let (_signal, signals) = mpsc::channel(2);
    let finish = home.tasks.finish(signals, Duration::from_secs(10)).await;
    assert_eq!(finish, Ok(Finish::Clean));
    let error = home.desk().get::<StatusShape>("/status").await.unwrap_err();
    assert!(matches!(error, ClientError::NotRunning), "{error}");
}

/// The token that the hub of these tests knows, for reading alone.
#[tokio::test]
async fn a_program_reads_with_its_token_and_does_nothing_else() {
    let home = Home::start().await;
    let with = |request: hyper::http::request::Builder, token: &str| {
        empty(request.header(header::AUTHORIZATION, format!("Bearer {token}")))
    };
    let status = home.ask(with(home.get("/api/v1/status"), READER)).await;
    assert_eq!(status.status(), StatusCode::OK);
    let figures = home.ask(with(home.get("/metrics"), READER)).await;
    assert_eq!(figures.status(), StatusCode::OK);
    let text = String::from_utf8(figures.body().to_vec()).unwrap();
    for line in ["vigie_sessions{state=\"waiting\"}", "vigie_gates_open", "# EOF"] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let unknown = home.ask(with(home.get("/api/v1/status"), "vgt_other")).await;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    let origin = format!("http://{}", home.at);
    for path in ["/api/v1/sessions", "/api/v1/waiting/K7Q2/answer", "/api/v1/waiting/tap"] {
        let request = Request::post(path).header(header::HOST, home.at.to_string());
        let answer = home.ask(with(request.header(header::ORIGIN, &origin), READER)).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{path}");
    }
    // What is done at the desk alone stays there.
    let people = home.ask(with(home.get("/api/v1/people"), READER)).await;
    assert_eq!(people.status(), StatusCode::FORBIDDEN);
    let bare = home.ask(empty(home.get("/metrics"))).await;
    assert_ne!(bare.status(), StatusCode::OK);
}
