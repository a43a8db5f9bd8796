//! The door of agents and programs, on a real daemon: who gets in, both eras of the protocol, every
//! tool, calls that wait, and what outlives a crash.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod home;
    pub(crate) mod mcp;
    pub(crate) mod phone;
}

use hyper::StatusCode;
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::Command};
use support::{
    home::Home,
    mcp::{NEWER, OLDER, Program, until},
};

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command
        .args(["up", "--no-link", "--home"])
        .arg(home.data())
        .arg("--config")
        .arg(home.settings());
    command.env("VIGIE_DEMO_PACE", "1").env("VIGIE_LOG", "vigie=debug");
    command
}

async fn home_with(more: &str) -> Home {
    let mut home = Home::new(vigie_up);
    // However busy the machine is.
    let bounds = if more.contains("[bounds]") { "" } else { "\n[bounds]\nmax_load = 1000.0\n" };
    home.configure(&format!("{more}{bounds}"));
    home.up().await;
    home
}

/// A daemon and a program that may do everything.
async fn start() -> (Home, Program) {
    let home = home_with("").await;
    let program = home.program("ci", &[]).await;
    (home, program)
}

/// Starts a session whose agent says a few lines and asks for nothing.
async fn begin(program: &Program, name: &str) {
    program.done("start_session", json!({ "name": name, "prompt": "stream 3" })).await;
}

const TOOLS: [&str; 20] = [
    "whoami",
    "list_projects",
    "list_sessions",
    "start_session",
    "get_session",
    "wait_for_sessions",
    "stop_session",
    "send_message",
    "read_messages",
    "set_summary",
    "ask_human",
    "notify_human",
    "send_file",
    "list_workflows",
    "run_workflow",
    "get_run",
    "wait_for_run",
    "cancel_run",
    "read_transcript",
    "usage",
];

#[tokio::test]
async fn a_caller_without_a_good_token_learns_what_is_missing() {
    let (home, program) = start().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let none = program.post(&[("authorization", "")], list.clone()).await;
    assert_eq!(none.status, StatusCode::UNAUTHORIZED);
    let challenge = none.header("www-authenticate").to_owned();
    let at = format!("http://{}/.well-known/oauth-protected-resource/mcp", home.address);
    assert!(challenge.starts_with("Bearer scope=\"read mail sessions workflows\""), "{challenge}");
    assert!(challenge.contains(&format!("resource_metadata=\"{at}\"")), "{challenge}");
    let wrong = program.post(&[("authorization", "Bearer 0000")], list.clone()).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(wrong.header("www-authenticate").contains("error=\"invalid_token\""));
    assert!(wrong.json()["error_description"].as_str().unwrap().contains("vigie token create"));

    let reader = home.program("reader", &["read"]).await;
    let start = json!({ "name": "start_session", "arguments": { "name": "docs", "prompt": "hi" } });
    let lacking = reader.answer("tools/call", start).await;
    assert_eq!(lacking.status, StatusCode::FORBIDDEN);
    let challenge = lacking.header("www-authenticate");
    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"sessions\""));
    reader.done("list_sessions", json!({})).await;

    let _: Value = home.desk().delete("/tokens/ci").await.unwrap();
    assert_eq!(program.post(&[], list).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn what_the_door_is_can_be_read_by_anybody_here() {
    let (home, program) = start().await;
    for path in ["", "/mcp"] {
        let url = format!("/.well-known/oauth-protected-resource{path}");
        let about = get(&program, &url).await;
        assert_eq!(about["resource"], format!("http://{}/mcp", home.address));
        assert_eq!(about["bearer_methods_supported"], json!(["header"]));
        assert_eq!(about["scopes_supported"], json!(["read", "mail", "sessions", "workflows"]));
    }
    // Whoever looks for an authorization server must not find a page that asks for a login.
    assert!(get(&program, "/.well-known/oauth-authorization-server").await["error"].is_string());
}

async fn get(program: &Program, path: &str) -> Value {
    let url = format!("http://{}{path}", program.address);
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new());
    let client = client.build_http::<http_body_util::Empty<hyper::body::Bytes>>();
    let answer = client.get(url.parse().unwrap()).await.unwrap();
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn pages_of_others_and_other_names_stay_outside() {
    let (home, program) = start().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    for foreign in ["http://evil.example.org", "null", "http://127.0.0.1:1"] {
        let answer = program.post(&[("origin", foreign)], list.clone()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{foreign}");
    }
    let other = program.post(&[("host", "evil.example.org")], list.clone()).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN);
    let own = format!("http://{}", home.address);
    let answer = program.ask("tools/list", json!({})).await;
    assert_eq!(answer.status, StatusCode::OK);
    let plain = program.post(&[("content-type", "text/plain")], list.clone()).await;
    assert_eq!(plain.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let form = program
        .post(&[("content-type", "text/plain"), ("origin", "http://evil.example.org")], list)
        .await;
    assert_eq!(form.status, StatusCode::FORBIDDEN);
    let own_page = program.post(&[("origin", &own)], "{").await;
    assert_eq!(own_page.status, StatusCode::BAD_REQUEST, "our own origin gets past the door");
}

#[tokio::test]
async fn what_is_broken_is_answered_with_the_protocols_own_codes() {
    let (_home, program) = start().await;
    let code = async |body: &str| {
        let answer = program.post(&[], body.to_owned()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}: {answer:?}");
        answer.json()["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(code("{").await, -32700);
    assert_eq!(code("[]").await, -32600);
    assert_eq!(code(r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#).await, -32600);
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1}"#).await, -32600);
    let half = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\ud800"}}"#;
    let answer = program.post(&[], half).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let words = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(words.contains("line 1 column"), "{words}");

    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(1 << 20));
    let refused = program.post(&[], long).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(refused.json()["error"].as_str().unwrap().contains("file"));

    let shapeless = program.answer("tools/call", json!({ "name": "whoami", "arguments": 7 })).await;
    assert_eq!(shapeless.json()["error"]["code"], -32602, "{shapeless:?}");
    let unknown = program.answer("tools/call", json!({ "name": "approve" })).await;
    assert_eq!(unknown.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn the_newer_era_needs_no_hello() {
    let (_home, program) = start().await;
    let list = program.answer("tools/list", json!({})).await;
    assert_eq!(list.status, StatusCode::OK);
    assert_eq!(list.header("content-type"), "application/json");
    let list = list.json()["result"].clone();
    assert_eq!(list["resultType"], "complete");
    assert_eq!((&list["cacheScope"], list["ttlMs"].as_u64() > Some(0)), (&json!("public"), true));
    let names = |list: &Value| -> Vec<String> {
        let tools = list["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&list), TOOLS);
    let again = program.answer("tools/list", json!({})).await.json()["result"].clone();
    assert_eq!(list, again, "the same list every time");

    let about = program.answer("server/discover", json!({})).await.json()["result"].clone();
    assert!(about["supportedVersions"].as_array().unwrap().contains(&json!(OLDER)));
    assert!(about["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    assert!(about["instructions"].as_str().unwrap().contains("Nothing here approves anything"));

    let meta = json!({ "io.modelcontextprotocol/protocolVersion": OLDER,
        "io.modelcontextprotocol/clientCapabilities": {} });
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    let headers = [("mcp-protocol-version", NEWER), ("mcp-method", "tools/list")];
    let mismatch = program.post(&headers, body.to_string()).await;
    assert_eq!(mismatch.status, StatusCode::BAD_REQUEST);
    assert_eq!(mismatch.json()["error"]["code"], -32020);

    let later = body.to_string().replace(OLDER, "2099-01-01");
    let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")];
    let unsupported = program.post(&headers, later).await;
    assert_eq!(unsupported.status, StatusCode::BAD_REQUEST);
    let error = unsupported.json()["error"].clone();
    assert_eq!(error["code"], -32022);
    assert!(error["data"]["supported"].as_array().unwrap().contains(&json!(NEWER)));

    let unknown = program.answer("gates/answer", json!({})).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(unknown.json()["error"]["code"], -32601);
}

#[tokio::test]
async fn the_older_era_begins_with_a_hello_and_hears_nothing_newer() {
    let (home, program) = start().await;
    let older = program.begin().await;
    assert_eq!(older.hello["protocolVersion"], OLDER);
    assert_eq!(older.hello["serverInfo"]["name"], "vigie");
    let list = older.answer(1, "tools/list", json!({})).await["result"].clone();
    assert_eq!(list["tools"].as_array().unwrap().len(), TOOLS.len());
    for newer in ["resultType", "ttlMs", "cacheScope"] {
        assert!(list[newer].is_null() || newer != "resultType", "{list}");
    }
    let who = older.answer(2, "tools/call", json!({ "name": "whoami" })).await;
    assert_eq!(who["result"]["structuredContent"]["name"], "ci");

    // A session is its owner's alone: for another token there is none.
    let other = home.program("other", &[]).await;
    let stolen = [("mcp-session-id", older.session.as_str()), ("mcp-protocol-version", OLDER)];
    let body = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }).to_string();
    assert_eq!(other.post(&stolen, body.clone()).await.status, StatusCode::NOT_FOUND);
    let unknown = [("mcp-session-id", "nowhere"), ("mcp-protocol-version", OLDER)];
    assert_eq!(program.post(&unknown, body.clone()).await.status, StatusCode::NOT_FOUND);

    let over = older.send("DELETE", &[], Value::Null).await.status;
    assert!(over.is_success(), "{over}");
    let after = [("mcp-session-id", older.session.as_str()), ("mcp-protocol-version", OLDER)];
    assert_eq!(program.post(&after, body).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn tools_say_truly_what_they_do() {
    let (_home, program) = start().await;
    let list = program.answer("tools/list", json!({})).await.json()["result"]["tools"].clone();
    let tools = list.as_array().unwrap();
    let read_only: BTreeSet<_> = tools
        .iter()
        .filter(|tool| tool["annotations"]["readOnlyHint"] == true)
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let looks = [
        "get_run",
        "get_session",
        "list_projects",
        "list_sessions",
        "list_workflows",
        "read_transcript",
        "usage",
        "wait_for_run",
        "wait_for_sessions",
        "whoami",
    ];
    assert_eq!(read_only, BTreeSet::from(looks));
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} lacks {hint}");
        }
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}: {schema}");
        }
        assert!(tool["description"].as_str().unwrap().len() < 400, "{name} is long-winded");
    }
}

#[tokio::test]
async fn every_tool_answers_twice_the_same_or_says_what_to_do() {
    let (_home, program) = start().await;
    let list = program.answer("tools/list", json!({})).await.json()["result"]["tools"].clone();
    begin(&program, "PD-285").await;
    let stopped = json!({ "session": "PD-285", "how": "interrupt" });
    for (tool, arguments) in [
        ("whoami", json!({})),
        ("list_projects", json!({})),
        ("list_sessions", json!({ "story": "PD-*", "depth": 0, "as": "a person" })),
        ("get_session", json!({ "session": "pd-285" })),
        ("wait_for_sessions", json!({ "sessions": ["PD-285"] })),
        ("send_message", json!({ "to": "PD-285", "text": "stream 1" })),
        ("read_messages", json!({})),
        ("list_workflows", json!({})),
        ("read_transcript", json!({ "session": "PD-285", "characters": 400 })),
        ("usage", json!({})),
        ("stop_session", stopped),
    ] {
        let result = program.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result:#}");
        assert!(!result["content"][0]["text"].as_str().unwrap().is_empty(), "{tool}");
        let found = &result["structuredContent"];
        let schema = list.as_array().unwrap().iter().find(|known| known["name"] == tool).unwrap();
        for required in schema["outputSchema"]["required"].as_array().unwrap() {
            assert!(!found[required.as_str().unwrap()].is_null(), "{tool} lacks {required}");
        }
    }
    for (tool, arguments, says) in [
        ("start_session", json!({ "name": "PD-285", "prompt": "again" }), "send_message"),
        ("start_session", json!({ "name": "x", "prompt": "", "max_usd": -1 }), "dollars"),
        ("start_session", json!({ "prompt": "nameless" }), "name"),
        ("get_session", json!({ "session": "PD-258" }), "PD-285"),
        ("wait_for_sessions", json!({}), "1 to 50"),
        ("wait_for_sessions", json!({ "ticket": "PD-285" }), "as you got it"),
        ("ask_human", json!({ "question": "Which?" }), "ask them there"),
        ("notify_human", json!({ "text": "done" }), "only a session"),
        ("set_summary", json!({ "text": "busy" }), "only a session"),
        ("send_file", json!({ "path": "a.txt" }), "only a session"),
        ("run_workflow", json!({ "workflow": "qiuck-change" }), "quick-change"),
        ("run_workflow", json!({ "workflow": "bug", "params": { "storey": 1 } }), "list_workflows"),
        ("get_run", json!({ "run": "run_1" }), "no run is called"),
        ("wait_for_run", json!({ "run": "run_1" }), "no run is called"),
        ("wait_for_run", json!({ "ticket": "run_1" }), "as you got it"),
        ("cancel_run", json!({ "run": "run_1" }), "run_workflow gives"),
        ("read_transcript", json!({ "session": "nobody" }), "nobody"),
    ] {
        let words = program.refused(tool, arguments).await;
        assert!(words.contains(says), "{tool}: {words}");
    }
}

/// A workflow that waits for an hour, with a param that says what for.
const NAP: &str = "name: nap\nparams: {why: {type: string, enum: [tired, bored]}}\nsteps:\n  - {id: rest, sleep: 1h}\noutputs: {why: params.why}\n";

#[tokio::test]
async fn a_workflow_is_run_looked_at_waited_for_and_ended() {
    let (home, program) = start().await;
    std::fs::write(home.folder("workflows").join("nap.yaml"), NAP).unwrap();
    until("workflow that was just written", async || {
        let known = program.done("list_workflows", json!({})).await;
        let all = known["workflows"].as_array().unwrap().clone();
        all.into_iter().find(|workflow| workflow["name"] == "nap")
    })
    .await;
    let wrong = json!({ "workflow": "nap", "params": { "why": "sad" } });
    assert!(program.refused("run_workflow", wrong).await.contains("tired, bored"));
    let arguments = json!({ "workflow": "nap", "params": { "why": "tired" }, "key": "1" });
    let begun = program.done("run_workflow", arguments.clone()).await;
    let run = begun["run"].as_str().unwrap().to_owned();
    let again = program.done("run_workflow", arguments).await;
    assert_eq!((again["run"].as_str(), &begun["name"]), (Some(run.as_str()), &json!("nap-1")));

    let looked = json!({ "run": run, "max_seconds": 0 });
    let waits = program.done("wait_for_run", looked).await;
    assert_eq!(waits["standing"], "waiting");
    let seen = program.done("get_run", json!({ "run": "nap-1" })).await;
    assert_eq!((&seen["state"], &seen["params"]["why"]), (&json!("running"), &json!("tired")));
    assert_eq!(seen["steps"][0]["step"], "rest");
    let uri = json!({ "uri": format!("vigie://runs/{run}") });
    let read = program.answer("resources/read", uri).await.json();
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("nap-1"), "{read}");
    let all = program.answer("resources/read", json!({ "uri": "vigie://runs" })).await.json();
    assert!(all["result"]["contents"][0]["text"].as_str().unwrap().contains(&run), "{all}");

    program.done("cancel_run", json!({ "run": run })).await;
    let over = program.done("wait_for_run", json!({ "ticket": waits["ticket"] })).await;
    assert_eq!((&over["standing"], &over["run"]["state"]), (&json!("done"), &json!("cancelled")));
}

#[tokio::test]
async fn a_session_is_started_waited_for_and_read() {
    let (_home, program) = start().await;
    begin(&program, "PD-285").await;
    let arguments = json!({ "sessions": ["PD-285"], "max_seconds": 0 });
    let looked = program.done("wait_for_sessions", arguments).await;
    let ticket = looked["ticket"].as_str().unwrap().to_owned();
    let params = json!({ "name": "wait_for_sessions", "arguments": { "ticket": ticket },
        "_meta": { "progressToken": "how-far" } });
    let mut told = program.ask("tools/call", params).await;
    let done = told.until("an answer", |message| message["id"] == 1).await["result"].clone();
    let found = &done["structuredContent"];
    assert_eq!(
        (&found["standing"], &found["sessions"][0]["name"]),
        (&json!("done"), &json!("PD-285"))
    );
    assert_eq!(found["sessions"][0]["answer"]["text"], "3 lines printed.");
    let one = program.done("get_session", json!({ "session": "PD-285" })).await;
    assert_eq!(one["answer"]["text"], "3 lines printed.");
    // Looked at again it is the same.
    let again = program.done("wait_for_sessions", json!({ "ticket": ticket })).await;
    assert_eq!(again["standing"], "done");
    let said = program.done("read_transcript", json!({ "session": "PD-285" })).await;
    assert!(said["text"].as_str().unwrap().contains("lines printed"), "{said:#}");
    let ended = program.done("stop_session", json!({ "session": "PD-285" })).await;
    assert_eq!(ended["sessions"], json!(["PD-285"]));
    let until = json!({ "sessions": ["PD-285"], "until": "ended" });
    let over = program.done("wait_for_sessions", until).await;
    assert_eq!(over["sessions"][0]["state"], "ended");
}

#[tokio::test]
async fn messages_are_sent_once_and_found_again() {
    let (_home, program) = start().await;
    begin(&program, "PD-285").await;
    let letter = json!({ "to": ["PD-285"], "text": "which store?", "key": "k1" });
    let sent = program.done("send_message", letter.clone()).await["messages"].clone();
    let again = program.done("send_message", letter).await["messages"].clone();
    assert_eq!(sent[0]["id"], again[0]["id"]);
    let find = json!({ "find": { "words": "store", "side": "sent" } });
    let found = program.done("read_messages", find).await;
    let one = &found["messages"][0];
    assert_eq!((&one["id"], &one["text"]), (&sent[0]["id"], &json!("which store?")));
    assert_eq!((&one["from"], &one["to"]), (&json!("client:ci"), &json!("PD-285")));
    let nobody = program.refused("send_message", json!({ "to": "PD-258", "text": "hm" })).await;
    assert!(nobody.contains("PD-285"), "{nobody}");
    let empty = program.done("read_messages", json!({ "find": { "words": "harbour" } })).await;
    assert_eq!(empty["messages"], json!([]));
}

#[tokio::test]
async fn a_call_that_waits_tells_how_it_stands() {
    let (home, program) = start().await;
    // It asks for permission, so that nothing ends before somebody answers.
    program.done("start_session", json!({ "name": "PD-285", "prompt": "tidy" })).await;
    let card = home.phone().await;
    card.card().await;
    let params = json!({ "name": "wait_for_sessions", "arguments": { "sessions": ["PD-285"] },
        "_meta": { "progressToken": 7 } });
    let mut told = program.ask("tools/call", params.clone()).await;
    assert!(told.headers["content-type"].to_str().unwrap().contains("event-stream"));
    let progress = told.notice("notifications/progress").await["params"].clone();
    assert_eq!(progress["progressToken"], 7);
    assert!(progress["message"].as_str().unwrap().contains("PD-285"), "{progress}");

    let older = program.begin().await;
    let mut older_told = older.ask(5, "tools/call", params).await;
    older_told.notice("notifications/progress").await;

    let gate: Value = home.desk().get("/waiting").await.unwrap();
    let code = gate[0]["code"].as_str().unwrap();
    let answer = json!({ "choice": "approve" });
    let _: Value = home.desk().post(&format!("/waiting/{code}/answer"), &answer).await.unwrap();
    let done = told.until("an answer", |message| message["id"] == 1).await;
    assert_eq!(done["result"]["structuredContent"]["standing"], "done");
    let done = older_told.until("an answer", |message| message["id"] == 5).await;
    assert_eq!(done["result"]["structuredContent"]["standing"], "done");
}

#[tokio::test]
async fn who_gives_up_is_not_waited_for_and_what_was_started_goes_on() {
    let (home, program) = start().await;
    program.done("start_session", json!({ "name": "PD-285", "prompt": "tidy" })).await;
    home.phone().await.card().await;
    let params = json!({ "name": "wait_for_sessions", "arguments": { "sessions": ["PD-285"] },
        "_meta": { "progressToken": 7 } });
    let given_up = || home.log().matches("a call that waited was given up").count();
    let mut told = program.ask("tools/call", params.clone()).await;
    told.notice("notifications/progress").await;
    told.hang_up();
    until("end of the first call", async || (given_up() == 1).then_some(())).await;

    let older = program.begin().await;
    let mut told = older.ask(9, "tools/call", params).await;
    told.notice("notifications/progress").await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 9, "reason": "changed my mind" } });
    older.send("POST", &[], cancel).await;
    until("end of the second call", async || (given_up() == 2).then_some(())).await;
    assert_eq!(home.session("PD-285").await["state"], "waiting");
}

#[tokio::test]
async fn a_client_of_the_older_era_comes_back_for_what_it_missed() {
    let (_home, program) = start().await;
    begin(&program, "PD-285").await;
    let older = program.begin().await;
    let wait = json!({ "name": "wait_for_sessions", "arguments": { "sessions": ["PD-285"] } });
    let mut told = older.ask(4, "tools/call", wait).await;
    let first = told.next().await.unwrap();
    told.hang_up();
    program.done("wait_for_sessions", json!({ "sessions": ["PD-285"] })).await;
    let mut rest = older.come_back(first.id.as_deref().unwrap()).await;
    let answer = rest.until("the answer", |message| message["id"] == 4).await;
    assert_eq!(answer["result"]["structuredContent"]["standing"], "done");
    // An empty stream would be asked for again and again.
    let unknown = older.come_back("elsewhere.7").await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn whoever_follows_a_resource_hears_when_it_changes() {
    let (home, program) = start().await;
    let notifications = json!({ "resourcesListChanged": true,
        "resourceSubscriptions": ["vigie://sessions", "vigie://inbox", "file:///etc/passwd"] });
    let listen = json!({ "notifications": notifications });
    let mut newer = program.ask("subscriptions/listen", listen).await;
    let first = newer.notice("notifications/subscriptions/acknowledged").await;
    let accepted = &first["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!(["vigie://sessions", "vigie://inbox"]));
    let older = program.begin().await;
    let mut stream = older.stream().await;
    older.answer(1, "resources/subscribe", json!({ "uri": "vigie://sessions" })).await;
    // Both have looked before anything happens.
    let before = program.answer("resources/read", json!({ "uri": "vigie://sessions" })).await;
    assert!(before.text.contains("sessions"));
    until("a first look", async || {
        (home.log().matches("a client follows resources").count() >= 2).then_some(())
    })
    .await;

    begin(&program, "PD-285").await;
    let uri = |message: &Value| message["params"]["uri"].as_str().map(str::to_owned);
    let updated = newer.notice("notifications/resources/updated").await;
    assert_eq!(uri(&updated).as_deref(), Some("vigie://sessions"));
    let updated = stream.notice("notifications/resources/updated").await;
    assert_eq!(uri(&updated).as_deref(), Some("vigie://sessions"));

    let list = program.answer("resources/list", json!({})).await.json()["result"].clone();
    let uris: Vec<_> =
        list["resources"].as_array().unwrap().iter().map(|r| r["uri"].as_str().unwrap()).collect();
    let all = ["vigie://sessions", "vigie://runs", "vigie://inbox", "vigie://sessions/PD-285"];
    assert_eq!(uris, all);
    let one = program.answer("resources/read", json!({ "uri": "vigie://sessions/PD-285" })).await;
    let one = one.json()["result"].clone();
    assert_eq!((&one["ttlMs"], &one["cacheScope"]), (&json!(0), &json!("private")));
    assert!(one["contents"][0]["text"].as_str().unwrap().contains("\"name\":\"PD-285\""));
    let none = program.answer("resources/read", json!({ "uri": "vigie://gates" })).await;
    assert_eq!(none.json()["error"]["code"], -32602);
    assert_eq!(none.json()["error"]["data"]["uri"], "vigie://gates");
}

#[tokio::test]
async fn a_task_is_there_after_a_crash() {
    let (mut home, program) = start().await;
    program.done("start_session", json!({ "name": "PD-285", "prompt": "tidy" })).await;
    home.phone().await.card().await;
    let can = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let ask = async |method: &str, params: Value| {
        program.ask_as(method, params, can.clone()).await.whole().await.json()["result"].clone()
    };
    let wait = json!({ "name": "wait_for_sessions", "arguments": { "sessions": ["PD-285"] } });
    let made = ask("tools/call", wait).await;
    assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")));
    let id = made["taskId"].clone();
    home.kill();
    home.up().await;
    let found = ask("tasks/get", json!({ "taskId": id })).await;
    assert_eq!((&found["taskId"], &found["status"]), (&id, &json!("working")));
    assert_eq!(found["createdAt"], made["createdAt"]);

    let gate: Value = home.desk().get("/waiting").await.unwrap();
    let code = gate[0]["code"].as_str().unwrap();
    let answer = json!({ "choice": "approve" });
    let _: Value = home.desk().post(&format!("/waiting/{code}/answer"), &answer).await.unwrap();
    let done = until("end of the task", async || {
        let found = ask("tasks/get", json!({ "taskId": id })).await;
        (found["status"] == "completed").then_some(found)
    })
    .await;
    assert_eq!(done["result"]["structuredContent"]["standing"], "done");

    let until_ended = json!({ "sessions": ["PD-285"], "until": "ended" });
    let other =
        ask("tools/call", json!({ "name": "wait_for_sessions", "arguments": until_ended })).await;
    let other = other["taskId"].clone();
    assert_eq!(ask("tasks/cancel", json!({ "taskId": other })).await["resultType"], "complete");
    assert_eq!(ask("tasks/get", json!({ "taskId": other })).await["status"], "cancelled");
    // It is nobody else's, and without the extension there are no tasks.
    let stranger = home.program("stranger", &[]).await;
    let asked = stranger.ask_as("tasks/get", json!({ "taskId": id }), can.clone()).await;
    assert_eq!(asked.whole().await.json()["error"]["code"], -32602);
    let without = program.answer("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(without.json()["error"]["code"], -32021);
}

#[tokio::test]
async fn bounds_hold_whatever_the_arguments_say() {
    let home = home_with(
        "\n[bounds]\nlive = 7\nchildren = 20\nstarts_a_minute = 100\nmax_load = 1000.0\n",
    )
    .await;
    let program = home.program("ci", &[]).await;
    let starts = (1..=7).map(|number| {
        let name = format!("PD-{number}");
        let program = &program;
        // None of these counts as below another, whatever is under way at the same time.
        async move {
            program
                .done("start_session", json!({ "name": name, "prompt": "stream 1", "depth": 99 }))
                .await
        }
    });
    for started in futures_util::future::join_all(starts).await {
        assert_eq!(started["session"]["depth"], 1, "{started:#}");
    }
    let more = json!({ "name": "PD-8", "prompt": "stream 1", "depth": 0 });
    let words = program.refused("start_session", more).await;
    assert!(
        words.contains("live sessions altogether: 7 of 7") && words.contains("[bounds]"),
        "{words}"
    );
}
