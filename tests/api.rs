//! The API against its own description: the same requests, and answers as it says.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
use support::{
    desk::{demo_home, new},
    home::Home,
};
use tokio::net::UnixStream;
use vigie::web::SOCKET_NAME;

/// One request at the desk's door: status and body.
async fn call(home: &Home, method: &str, path: &str, body: &Value) -> (u16, String) {
    let stream = UnixStream::connect(home.data().join(SOCKET_NAME)).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1{path}"))
        .header("host", "vigie")
        .body(Full::new(body))
        .unwrap();
    let asked = async {
        let answer = sender.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    };
    tokio::pin!(asked);
    tokio::select! {
        answer = &mut asked => answer,
        _ = connection => asked.await,
    }
}

async fn description(home: &Home) -> Value {
    let (status, text) = call(home, "GET", "/openapi.json", &Value::Null).await;
    assert_eq!(status, 200);
    serde_json::from_str(&text).unwrap()
}

const METHODS: [&str; 5] = ["get", "post", "put", "delete", "patch"];

/// `/sessions/{name}` with something in its braces that is not there.
fn filled(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "nope".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn the_description_has_every_request_there_is_and_no_other() {
    let home = demo_home().await;
    let about = description(&home).await;
    assert!(about["openapi"].as_str().unwrap().starts_with("3.1"), "{}", about["openapi"]);
    assert_eq!(about["servers"][0]["url"], "/api/v1");
    let paths = about["paths"].as_object().unwrap();
    assert!(paths.len() > 40, "{}", paths.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/api.md")).unwrap();
    let mut ids = BTreeSet::new();
    for (path, operations) in paths {
        for method in METHODS {
            let described = operations.get(method);
            if let Some(operation) = described {
                assert!(ids.insert(operation["operationId"].to_string()), "{operation}");
                assert!(operation["summary"].as_str().is_some(), "{method} {path} says nothing");
                let named = format!("{} {path}", method.to_uppercase());
                assert!(guide.contains(&named), "docs/api.md does not name {named}");
            }
            // The end comes last; the text of a workflow called `check` goes to the address that checks.
            if (method, path.as_str()) == ("post", "/down")
                || (method, path.as_str()) == ("put", "/workflows/check")
            {
                continue;
            }
            let query = if path == "/events" { "?follow=false" } else { "" };
            let asked = format!("{}{query}", filled(path));
            let (status, text) = call(&home, &method.to_uppercase(), &asked, &Value::Null).await;
            let there = !text.contains("\"no_such_page\"") && status != 405;
            assert_eq!(there, described.is_some(), "{method} {path}: {status} {text}");
        }
    }
    let (status, _) = call(&home, "POST", "/down", &Value::Null).await;
    assert_eq!(status, 202);
}

/// Codes that are told as errors, by status, as the sources of the web part have them. Webhooks have a
/// table of their own.
fn codes_told() -> BTreeSet<(u16, String)> {
    fn sources(folder: &Path, found: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("hooks") {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut text = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web"), &mut text);
    let named = |rest: &str| {
        let (name, rest) = rest.split_once(',')?;
        let code = rest.trim_start().strip_prefix('"')?.split('"').next()?;
        if !name.chars().all(|letter| letter == '_' || letter.is_ascii_uppercase()) {
            return None;
        }
        let status = match name {
            "BAD_REQUEST" => 400,
            "UNAUTHORIZED" => 401,
            "FORBIDDEN" => 403,
            "NOT_FOUND" => 404,
            "REQUEST_TIMEOUT" => 408,
            "CONFLICT" => 409,
            "UNPROCESSABLE_ENTITY" => 422,
            "TOO_MANY_REQUESTS" => 429,
            "INTERNAL_SERVER_ERROR" => 500,
            "BAD_GATEWAY" => 502,
            "SERVICE_UNAVAILABLE" => 503,
            "INSUFFICIENT_STORAGE" => 507,
            other => panic!("{other} of `{code}` is new here"),
        };
        Some((status, code.to_owned()))
    };
    text.split("StatusCode::").skip(1).filter_map(named).collect()
}

#[test]
fn the_guide_has_every_code_of_an_error_under_its_status() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/api.md")).unwrap();
    let table = guide.split("| status | codes |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let listed: BTreeSet<(u16, String)> = rows
        .flat_map(|line| {
            let mut cells = line.trim_matches('|').splitn(2, '|');
            let status: u16 = cells.next().unwrap().trim().parse().unwrap();
            let codes = cells.next().unwrap().split('`').skip(1).step_by(2);
            codes.filter(|code| *code != "Allow").map(move |code| (status, code.to_owned()))
        })
        .collect();
    let told = codes_told();
    let missing: Vec<_> = told.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/api.md does not have {missing:?}");
    // Those that are said by their status alone.
    let more: Vec<_> =
        listed.difference(&told).map(|(status, code)| (*status, code.as_str())).collect();
    assert_eq!(more, [(405, "method"), (413, "too_large")]);
}

#[tokio::test]
async fn whatever_refuses_a_request_says_so_in_one_shape() {
    let home = demo_home().await;
    let long = json!({ "text": "a".repeat(2 << 20) });
    for (method, path, body, status, code) in [
        ("GET", "/sessions/%FF", &Value::Null, 400, "unreadable"),
        ("POST", "/sessions/PD-285/send", &long, 413, "too_large"),
        ("PATCH", "/sessions", &Value::Null, 405, "method"),
        ("OPTIONS", "/sessions", &Value::Null, 405, "method"),
        ("DELETE", "/grants/9999", &Value::Null, 404, "no_grant"),
        ("GET", "/nope", &Value::Null, 404, "no_such_page"),
    ] {
        let (got, text) = call(&home, method, path, body).await;
        let told: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {text}"));
        assert_eq!((got, told["code"].as_str()), (status, Some(code)), "{method} {path}: {told}");
        assert!(told["error"].is_string() && told.get("hint").is_some(), "{told}");
    }
}

/// What is routed without a description is known here by name.
#[test]
fn nothing_is_routed_past_the_description() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/api");
    let mut past = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        past.extend(
            text.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()),
        );
    }
    past.sort();
    assert_eq!(past, ["/openapi.json", "/workflows/check"]);
}

/// Holds answers against the description.
struct Judge<'a> {
    home: &'a Home,
    about: Value,
    seen: BTreeSet<String>,
}

impl Judge<'_> {
    fn validate(&self, described: &Value, body: &Value, what: &str) {
        let mut schema = described.clone();
        schema["components"] = self.about["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<_> = validator.iter_errors(body).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{what}: {wrong:?}\n{body:#}");
    }

    /// Asks, and finds the answer described; `path` stands in the description as `template`.
    async fn ask(&mut self, method: &str, template: &str, path: &str, body: Value) -> Value {
        let what = format!("{method} {path}");
        let (status, text) = call(self.home, method, path, &body).await;
        let operation = &self.about["paths"][template][method.to_lowercase()];
        let answers = operation["responses"].as_object().unwrap_or_else(|| panic!("{what}"));
        let answer = answers.get(&status.to_string());
        let fault = status >= 400;
        assert!(answer.is_some() || fault, "{what}: {status} {text}");
        let answer = answer.unwrap_or(&answers["default"]);
        let (kind, content) = answer["content"].as_object().unwrap().iter().next().unwrap();
        if kind == "application/x-ndjson" {
            let lines = text.lines().filter(|line| !line.is_empty());
            let events: Vec<Value> =
                lines.map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(!events.is_empty());
            for event in &events {
                self.validate(&content["schema"], event, &what);
            }
            self.seen.insert(format!("{method} {template}"));
            return Value::Null;
        }
        let body: Value = serde_json::from_str(&text).unwrap();
        self.validate(&content["schema"], &body, &what);
        if !fault {
            self.seen.insert(format!("{method} {template}"));
        }
        body
    }

    async fn get(&mut self, path: &str) -> Value {
        self.ask("GET", path, path, Value::Null).await
    }
}

#[tokio::test]
async fn answers_are_as_the_description_says() {
    let home = demo_home().await;
    let about = description(&home).await;
    let mut judge = Judge { home: &home, about, seen: BTreeSet::new() };
    let start = json!({ "name": "PD-285", "title": "Retry refunds", "agent": "demo" });
    judge.ask("POST", "/sessions", "/sessions", start).await;
    home.session_is("PD-285", "idle").await;
    new(&home, "PD-286", "").await;
    for text in ["leave a note", "stream 2"] {
        let body = json!({ "text": text });
        judge.ask("POST", "/sessions/{name}/send", "/sessions/PD-285/send", body).await;
        home.session_is("PD-285", "waiting").await;
    }
    home.send("PD-286", "ask which store").await;
    home.session_is("PD-286", "waiting").await;
    for part in ["", "/screen", "/folder", "/prompts"] {
        let (template, path) =
            (format!("/sessions/{{name}}{part}"), format!("/sessions/PD-285{part}"));
        judge.ask("GET", &template, &path, Value::Null).await;
    }
    let line: Value = home.desk().get("/sessions/PD-285/prompts").await.unwrap();
    let prompt = format!("/prompts/{}", line[0]["id"].as_str().unwrap());
    judge.ask("PUT", "/prompts/{id}", &prompt, json!({ "text": "stream 3" })).await;
    judge.ask("DELETE", "/prompts/{id}", &prompt, Value::Null).await;
    judge.ask("DELETE", "/prompts/{id}", &prompt, Value::Null).await;

    judge.ask("POST", "/links", "/links", Value::Null).await;
    judge.ask("POST", "/tokens", "/tokens", json!({ "name": "ci", "scopes": ["read"] })).await;
    judge.ask("POST", "/workflows", "/workflows", json!({ "name": "count" })).await;
    let text = "name: count\nsteps:\n  - id: a\n    shell: echo ferry\n  - id: a\n    shell: b\n";
    judge.ask("POST", "/workflows/check", "/workflows/check", json!({ "text": text })).await;
    let run = judge.ask("POST", "/runs", "/runs", json!({ "workflow": "count" })).await;
    let run = run["name"].as_str().unwrap().to_owned();
    judge.ask("GET", "/runs/{name}", &format!("/runs/{run}"), Value::Null).await;
    let output = "/runs/{name}/steps/{step}/output";
    judge.ask("GET", output, &format!("/runs/{run}/steps/hello/output"), Value::Null).await;
    judge.ask("POST", "/pair", "/pair", Value::Null).await;
    judge.ask("GET", "/events", "/events?after=0&follow=false", Value::Null).await;

    let waiting = judge.get("/waiting").await;
    let code = waiting[0]["code"].as_str().unwrap();
    let answer = format!("/waiting/{code}/answer");
    let template = "/waiting/{code}/answer";
    judge.ask("POST", template, &answer, json!({ "choice": "approve" })).await;
    judge.ask("POST", template, &answer, json!({ "choice": "approve" })).await;

    // Whatever is read without naming anything is held against the description.
    let paths = judge.about["paths"].as_object().unwrap().clone();
    let plain = paths.iter().filter(|(path, it)| it.get("get").is_some() && !path.contains('{'));
    for (path, _) in plain.filter(|(path, _)| *path != "/events") {
        judge.get(path).await;
    }
    // There is no account on Matrix here: only the refusal was looked at.
    for (path, operations) in &paths {
        let seen = judge.seen.contains(&format!("GET {path}"));
        let one_of_many = ["/matrix", "{id}"].iter().any(|part| path.contains(part));
        assert!(seen || one_of_many || operations.get("get").is_none(), "GET {path} is untried");
    }
}
