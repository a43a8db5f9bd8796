//! Webhooks, on a real daemon: who is let in, what each refusal is, and that a run is on disk before it
//! is told of.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod home;
    pub(crate) mod phone;
}

use hmac::{Hmac, Mac as _};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, StatusCode, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::Sha256;
use std::{collections::BTreeSet, fmt::Write as _, fs, process::Command};
use support::home::{DEADLINE, Home};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

const TOKEN: &str = "a-token-for-tests-0001";
const OTHER: &str = "a-token-for-tests-0002";

/// What runs when it is called; nothing in it needs a process.
const STEPS: &str = "limits: {concurrency: 1000}\nsteps:\n  - {id: rest, sleep: 1h}\n";

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    let (data, settings) = (home.data(), home.settings());
    command.args(["up", "--no-link", "--home"]).arg(data).arg("--config").arg(settings);
    command
}

/// A daemon with webhooks of every kind.
async fn start() -> Home {
    let mut home = Home::new(vigie_up);
    fs::write(home.folder("token"), TOKEN).unwrap();
    fs::write(home.folder("other"), OTHER).unwrap();
    home.configure(&format!(
        "\n[[secret]]\nname = \"HOOK\"\nworkflows = [\"*\", \"quay/ci\"]\nfile = \"{}\"\n\n\
         [[secret]]\nname = \"OTHER\"\nworkflows = [\"*\"]\nfile = \"{}\"\n",
        home.folder("token").display(),
        home.folder("other").display()
    ));
    let own = home.folder("workflows");
    let project = home.project().join(".vigie/workflows");
    for folder in [&own, &project] {
        fs::create_dir_all(folder).unwrap();
    }
    let params =
        "params: {target: {type: string, default: here}, count: {type: integer, default: 1}}\n";
    let put = |name: &str, text: String| fs::write(own.join(name), text).unwrap();
    put("w1.yaml", format!("name: w1\n{params}on: {{webhook: {{secret: HOOK}}}}\n{STEPS}"));
    put("w2.yaml", format!("name: w2\non: {{webhook: {{secret: OTHER}}}}\n{STEPS}"));
    put(
        "signed.yaml",
        format!(
            "name: signed\n{params}on:\n  webhook:\n    secret: HOOK\n    proof: hmac\n    params:\n      target: body.ref\n      count: headers[\"x-count\"] | int\n{STEPS}"
        ),
    );
    put(
        "small.yaml",
        format!("name: small\non: {{webhook: {{secret: HOOK, max_body: 64B}}}}\n{STEPS}"),
    );
    put("broken.yaml", format!("name: broken\non: {{webhook: {{secret: HOOK}}}}\nstpes: []\n"));
    let ci = format!("name: ci\non: {{webhook: {{secret: HOOK}}}}\n{STEPS}");
    fs::write(project.join("ci.yaml"), ci).unwrap();
    home.up().await;
    // The list looks at the files, so from here on they are known.
    let all: Value = home.desk().get("/workflows").await.unwrap();
    let names: BTreeSet<&str> =
        all.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains("quay/ci") && names.contains("signed"), "{names:?}");
    home
}

struct Answer {
    status: StatusCode,
    headers: hyper::HeaderMap,
    body: Value,
}

impl Answer {
    fn code(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body["code"].as_str().unwrap_or_default())
    }
}

async fn send(
    home: &Home,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let stream = TcpStream::connect(home.address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let mut request =
        Request::builder().method(method).uri(path).header(header::HOST, home.address.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::<Bytes>::from(body.to_owned())).unwrap();
    let work = async move {
        let response = sender.send_request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { status: parts.status, headers: parts.headers, body }
    };
    let both = async { tokio::join!(work, connection).0 };
    timeout(DEADLINE, both).await.expect("an answer")
}

async fn post(home: &Home, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    send(home, "POST", path, headers, body).await
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// The desk's own look at the run that was told of.
async fn run(home: &Home, answer: &Answer) -> Value {
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    let id = answer.body["run"].as_str().unwrap();
    assert!(answer.body["url"].as_str().unwrap().ends_with(id));
    home.desk().get(&format!("/runs/{id}")).await.unwrap()
}

fn sign(secret: &str, parts: &[&str]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    for part in parts {
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().iter().fold("sha256=".into(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[tokio::test]
async fn each_call_is_a_run_and_a_key_makes_two_of_them_one() {
    let home = start().await;
    let token = bearer(TOKEN);
    let plain = [("authorization", token.as_str())];
    let keyed = [plain[0], ("idempotency-key", "abc"), ("content-type", "application/json")];

    let (one, two) =
        (post(&home, "/hooks/w1", &plain, "").await, post(&home, "/hooks/w1", &plain, "").await);
    assert_eq!(run(&home, &one).await["started_by"], "its webhook");
    assert_ne!(one.body["run"], two.body["run"]);

    let first = post(&home, "/hooks/w1", &keyed, "").await;
    let again = post(&home, "/hooks/w1", &keyed, "").await;
    assert_eq!(first.body["run"], again.body["run"]);
    let other = post(&home, "/hooks/w1", &keyed, r#"{"target": "elsewhere"}"#).await;
    assert_eq!(other.code(), (409, "other_key"));
}

#[tokio::test]
async fn what_is_on_disk_before_the_answer_outlives_the_daemon() {
    let mut home = start().await;
    let token = bearer(TOKEN);
    let keyed = [("authorization", token.as_str()), ("idempotency-key", "abc")];
    let first = post(&home, "/hooks/w1", &keyed, "").await;
    home.kill();
    home.up().await;
    let _: Value = home.desk().get("/workflows").await.unwrap();
    let again = post(&home, "/hooks/w1", &keyed, "").await;
    assert_eq!(first.body["run"], again.body["run"], "{}", again.body);
}

#[tokio::test]
async fn params_come_from_the_body_and_each_that_does_not_fit_is_said() {
    let home = start().await;
    let token = bearer(TOKEN);
    let json =
        [("authorization", token.as_str()), ("content-type", "application/json; charset=utf-8")];
    let begun = post(&home, "/hooks/w1", &json, r#"{"target": "x", "count": 3, "more": []}"#).await;
    assert_eq!(run(&home, &begun).await["params"], json!({ "target": "x", "count": 3 }));

    let wrong = post(&home, "/hooks/w1", &json, r#"{"target": 7, "count": "three"}"#).await;
    assert_eq!(wrong.code(), (422, "bad_params"));
    assert_eq!(wrong.body["mistakes"].as_array().unwrap().len(), 2, "{}", wrong.body);
    let torn = post(&home, "/hooks/w1", &json, "{\n  \"target\": \n}").await;
    assert_eq!(torn.code(), (400, "unreadable"));
    assert!(torn.body["error"].as_str().unwrap().contains("line 3 column 1"), "{}", torn.body);
    let text = [json[0], ("content-type", "text/plain")];
    assert_eq!(post(&home, "/hooks/w1", &text, "{}").await.code(), (415, "no_json"));
}

#[tokio::test]
async fn a_signature_is_over_the_bytes_as_they_came_and_over_a_fresh_time() {
    let home = start().await;
    let body = "{ \"ref\" :\t\"main\" }\r\n";
    let signature = sign(TOKEN, &[body]);
    let usual = [("content-type", "application/json"), ("x-count", "5")];
    let hub = [usual[0], usual[1], ("x-hub-signature-256", signature.as_str())];
    let begun = post(&home, "/hooks/signed", &hub, body).await;
    assert_eq!(run(&home, &begun).await["params"], json!({ "target": "main", "count": 5 }));
    let missing = post(&home, "/hooks/signed", &[hub[2], usual[0]], body).await;
    assert_eq!(missing.code(), (422, "bad_params"));

    let now = vigie::clock::Clock::system().now().timestamp();
    for (at, status) in [(now, 202), (now - 600, 401), (now + 600, 401)] {
        let at = at.to_string();
        let signature = sign(TOKEN, &[&at, ".", body]);
        let ours = [("x-vigie-signature", signature.as_str()), ("x-vigie-timestamp", at.as_str())];
        let answer =
            post(&home, "/hooks/signed", &[usual[0], usual[1], ours[0], ours[1]], body).await;
        assert_eq!(answer.status.as_u16(), status, "{at}: {}", answer.body);
    }
    // Another body, another secret, and a token where a signature is wanted.
    let token = bearer(TOKEN);
    let other = sign(OTHER, &[body]);
    for (headers, body) in [
        (vec![hub[2], usual[0]], "{\"ref\":\"main\"}"),
        (vec![("x-hub-signature-256", other.as_str()), usual[0]], body),
        (vec![("authorization", token.as_str()), usual[0]], body),
    ] {
        assert_eq!(post(&home, "/hooks/signed", &headers, body).await.code(), (401, "not_proven"));
    }
}

#[tokio::test]
async fn who_knows_no_secret_learns_nothing() {
    let home = start().await;
    let (good, other) = (bearer(TOKEN), bearer(OTHER));
    let mut told = BTreeSet::new();
    for (path, token) in [
        ("/hooks/w1", "Bearer nonsense"),
        ("/hooks/w1", other.as_str()),
        ("/hooks/w2", good.as_str()),
        ("/hooks/nobody", good.as_str()),
        ("/hooks/quay/nobody", good.as_str()),
        ("/hooks/nightly-audit", good.as_str()),
        ("/hooks/signed", good.as_str()),
        ("/hooks/w1", "Basic dTpw"),
    ] {
        // A body that nobody would take: it is not even looked at.
        let answer = post(&home, path, &[("authorization", token)], "no JSON").await;
        assert_eq!(answer.code(), (401, "not_proven"), "{path} {token}");
        told.insert(answer.body.to_string());
    }
    assert_eq!(post(&home, "/hooks/w1", &[], "").await.code(), (401, "not_proven"));
    assert_eq!(told.len(), 1, "they differ: {told:?}");
}

#[tokio::test]
async fn pages_queries_and_other_methods_are_refused() {
    let home = start().await;
    let token = bearer(TOKEN);
    let auth = ("authorization", token.as_str());
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let answer = send(&home, method, "/hooks/w1", &[auth], "").await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.headers[header::ALLOW], "POST");
    }
    let origin = format!("http://{}", home.address);
    for origin in ["null", "https://evil.example.org", origin.as_str()] {
        let answer = post(&home, "/hooks/w1", &[auth, ("origin", origin)], "").await;
        assert_eq!(answer.code(), (403, "wrong_origin"), "{origin}");
    }
    let answer = post(&home, &format!("/hooks/w1?token={TOKEN}"), &[], "").await;
    assert_eq!(answer.code(), (400, "query"));
    assert!(!home.log().contains(TOKEN), "a token stands in the log");
    let form = [auth, ("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(post(&home, "/hooks/w1", &form, "target=x").await.code(), (415, "no_json"));
}

#[tokio::test]
async fn a_body_is_no_longer_than_it_may_be_however_it_comes() {
    let home = start().await;
    let token = bearer(TOKEN);
    let json = [("authorization", token.as_str()), ("content-type", "application/json")];
    let exact = format!("{{\"x\": \"{}\"}}", "a".repeat(64 - 9));
    assert_eq!(exact.len(), 64);
    assert_eq!(post(&home, "/hooks/small", &json, &exact).await.status, StatusCode::ACCEPTED);
    let over = format!("{exact} ");
    assert_eq!(post(&home, "/hooks/small", &json, &over).await.code(), (413, "too_large"));
    // In chunks, without a length, and without an end.
    let (read, mut write) = TcpStream::connect(home.address).await.unwrap().into_split();
    let head = format!(
        "POST /hooks/small HTTP/1.1\r\nHost: {}\r\nAuthorization: {token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n{}\r\n",
        home.address,
        " ".repeat(65)
    );
    write.write_all(head.as_bytes()).await.unwrap();
    assert!(told(read).await.starts_with("HTTP/1.1 413 "), "it is refused before its end");
}

#[tokio::test]
async fn a_body_that_does_not_come_holds_nobody_up() {
    let home = start().await;
    let token = bearer(TOKEN);
    let mut slow = Vec::new();
    for _ in 0..16 {
        let (read, mut write) = TcpStream::connect(home.address).await.unwrap().into_split();
        let head = format!(
            "POST /hooks/signed HTTP/1.1\r\nHost: {}\r\nX-Hub-Signature-256: {}\r\nContent-Length: 100\r\n\r\n{{",
            home.address,
            sign(OTHER, &[])
        );
        write.write_all(head.as_bytes()).await.unwrap();
        slow.push((read, write));
    }
    let answer = post(&home, "/hooks/w1", &[("authorization", token.as_str())], "").await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    for (read, _write) in slow {
        let answer = told(read).await;
        let refused =
            ["HTTP/1.1 408 ", "HTTP/1.1 429 "].iter().any(|start| answer.starts_with(start));
        assert!(refused && answer.contains("connection: close"), "{answer}");
    }
}

/// All that comes until the other end closes.
async fn told(mut read: tokio::net::tcp::OwnedReadHalf) -> String {
    let mut all = Vec::new();
    let _ = timeout(DEADLINE, read.read_to_end(&mut all)).await.expect("it closes");
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn a_flood_is_told_to_come_back_later() {
    let home = start().await;
    let token = bearer(TOKEN);
    let headers = [("authorization", token.as_str())];
    let calls = (0..80).map(|_| post(&home, "/hooks/w1", &headers, ""));
    let mut begun = BTreeSet::new();
    let mut refused = 0;
    for answer in futures_util::future::join_all(calls).await {
        if answer.status == StatusCode::ACCEPTED {
            begun.insert(answer.body["run"].as_str().unwrap().to_owned());
            continue;
        }
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{}", answer.body);
        let again: u64 = answer.headers[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&again));
        refused += 1;
    }
    assert!(refused >= 20, "{refused} were refused");
    let runs: Value = home.desk().get("/runs?workflow=w1").await.unwrap();
    let known: BTreeSet<_> =
        runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(known, begun, "what was refused began nothing");
}

#[tokio::test]
async fn what_cannot_run_says_so_to_who_may_know_and_in_the_history() {
    let home = start().await;
    let token = bearer(TOKEN);
    for (path, code) in [("/hooks/broken", "bad_workflow"), ("/hooks/quay/ci", "not_run")] {
        let answer = post(&home, path, &[("authorization", token.as_str())], "").await;
        assert_eq!(answer.code(), (409, code), "{path}: {}", answer.body);
        assert_eq!(post(&home, path, &[("authorization", "Bearer x")], "").await.status, 401);
    }
    let mut refused = Vec::new();
    home.desk()
        .lines("/events?after=0&follow=false", |line| {
            let event: Value = serde_json::from_slice(line).unwrap();
            if event["kind"] == "run_refused" {
                refused.push(event["detail"]["workflow"].as_str().unwrap().to_owned());
            }
            std::ops::ControlFlow::Continue(())
        })
        .await
        .unwrap();
    assert_eq!(refused, ["broken", "quay/ci"]);
}
