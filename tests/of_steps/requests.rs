//! Steps that ask a server.

use serde_json::json;
use std::time::Duration;
use vigie_workflow::{
    run::{HttpWork, Outcome, WorkKind},
    value::{Piece, Sealed},
};

use crate::support::steps::{Yard, done, failed, text, work};

/// A server on loopback that says what it was asked.
async fn server() -> String {
    use axum::{
        Router,
        extract::Path,
        http::{HeaderMap, Method, StatusCode, Uri},
        response::Redirect,
        routing::any,
    };
    let echo = async |method: Method, uri: Uri, headers: HeaderMap, body: String| {
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        axum::Json(json!({
            "method": method.as_str(), "path": uri.to_string(), "body": body,
            "key": header("idempotency-key"), "type": header("content-type"),
            "authorization": header("authorization"), "agent": header("user-agent"),
        }))
    };
    let router = Router::new()
        .route("/echo", any(echo))
        .route("/teapot", any(async || (StatusCode::IM_A_TEAPOT, "no coffee\n")))
        .route("/big", any(async || "x".repeat(11 << 20)))
        .route("/loop", any(async || Redirect::to("/loop")))
        .route("/once", any(async || Redirect::to("/echo")))
        .route(
            "/away/{port}",
            any(async |Path(port): Path<u16>| {
                Redirect::temporary(&format!("http://127.0.0.1:{port}/echo"))
            }),
        )
        .route("/hang", any(async || std::future::pending::<String>().await));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    #[expect(clippy::disallowed_methods, reason = "it ends with its test")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn request(
    method: &str,
    url: String,
) -> (vigie_workflow::run::Work, fn(&mut vigie_workflow::run::Work) -> &mut HttpWork) {
    let http = HttpWork {
        method: method.into(),
        url: Sealed::plain(url),
        headers: Vec::new(),
        body: None,
        json: false,
        expect: Vec::new(),
        allow_private: true,
        redirects: 5,
    };
    (work(WorkKind::Http(http)), |work| match &mut work.what {
        WorkKind::Http(http) => http,
        _ => unreachable!(),
    })
}

#[tokio::test]
async fn a_request_gives_what_came_back() {
    let yard = Yard::with_secret("correct-horse").await;
    let server = server().await;
    let (mut work, http) = request("POST", format!("{server}/echo?a=b"));
    let http = http(&mut work);
    http.body = Some(Sealed::plain(r#"{"open": 285}"#));
    http.json = true;
    http.headers = vec![(
        "Authorization".into(),
        Sealed(vec![Piece::Text("Bearer ".into()), Piece::Secret("TOKEN".parse().unwrap())]),
    )];
    let output = done(yard.run(work).await).output;
    let json = output.json.unwrap();
    assert_eq!(json["method"], "POST");
    assert_eq!(json["body"], r#"{"open": 285}"#);
    assert_eq!(json["key"], "key-of-the-step");
    assert_eq!(json["type"], "application/json");
    assert_eq!(json["authorization"], "Bearer ***", "it was sent, and is masked in what came back");
    assert_eq!(output.values["status"], 200);
    assert_eq!(output.values["headers"]["content-type"], "application/json");
    let (work, _) = request("GET", format!("{server}/once"));
    let json = done(yard.run(work).await).output.json.unwrap();
    assert_eq!((&json["path"], &json["key"]), (&json!("/echo"), &json!(null)));
}

#[tokio::test]
async fn a_request_fails_by_what_came_back() {
    let yard = Yard::new().await;
    let server = server().await;
    let run = async |path: &str, set: fn(&mut HttpWork)| {
        let (mut work, http) = request("GET", format!("{server}/{path}"));
        set(http(&mut work));
        yard.run(work).await
    };
    let ended = run("teapot", |_| {}).await;
    assert_eq!(ended.output.text, "no coffee");
    assert_eq!(ended.output.values["status"], 418);
    assert_eq!(failed(ended), format!("GET {server}/teapot answered 418: no coffee"));
    assert_eq!(text(run("teapot", |http| http.expect = vec![418]).await), "no coffee");
    assert_eq!(failed(run("big", |_| {}).await), "the answer is longer than 10 MiB");
    assert_eq!(failed(run("loop", |_| {}).await), "it was sent on more than 5 times");
    assert_eq!(
        run("loop", |http| (http.redirects, http.expect) = (0, vec![303])).await.outcome,
        Outcome::Done
    );
    let (work, _) = request("GET", "http://127.0.0.1:1/?key=secret".into());
    let why = failed(yard.run(work).await);
    assert!(
        why.starts_with("GET http://127.0.0.1:1/ did not work: ") && !why.contains("secret"),
        "{why}"
    );
    let (mut work, _) = request("GET", format!("{server}/hang"));
    work.timeout = Some(Duration::from_millis(200));
    assert_eq!(yard.run(work).await.outcome, Outcome::TimedOut);
}

#[tokio::test]
async fn what_is_for_one_server_is_sent_to_no_other() {
    let yard = Yard::new().await;
    let (first, other) = (server().await, server().await);
    let port = |server: &str| server.rsplit(':').next().unwrap().to_owned();
    let (mut work, http) = request("POST", format!("{first}/away/{}", port(&first)));
    http(&mut work).body = Some(Sealed::plain("open"));
    assert_eq!(done(yard.run(work).await).output.json.unwrap()["body"], "open");
    for method in ["POST", "GET"] {
        let (mut work, http) = request(method, format!("{first}/away/{}", port(&other)));
        http(&mut work).body = Some(Sealed::plain("open"));
        let why = failed(yard.run(work).await);
        assert!(why.starts_with("it was sent on to another server"), "{why}");
    }
    let (work, _) = request("GET", format!("{first}/away/{}", port(&other)));
    done(yard.run(work).await);
}

#[tokio::test]
async fn a_secret_fits_into_json_and_shows_in_no_address() {
    const VALUE: &str = r#"S3cr"et\|[Quay]^'"#;
    let yard = Yard::with_secret(VALUE).await;
    let secret = || Piece::Secret("TOKEN".parse().unwrap());
    let text = |text: &str| Piece::Text(text.into());
    let server = server().await;
    let (mut work, http) = request("POST", format!("{server}/echo"));
    http(&mut work).body = Some(Sealed(vec![text("{\"a\":\""), secret(), text("\"}")]));
    http(&mut work).json = true;
    let came = done(yard.run(work).await).output.json.unwrap();
    assert_eq!(came["body"], r#"{"a":"***"}"#);
    let path = vec![text(&format!("{server}/none/")), secret(), text("/b?c")];
    let (mut work, http) = request("GET", String::new());
    http(&mut work).url = Sealed(path);
    assert_eq!(
        failed(yard.run(work).await),
        format!("GET {server}/none/{{{{ secrets.TOKEN }}}}/b answered 404")
    );
    let yard = Yard::with_secret("Quay-Nowhere.invalid").await;
    for (before, after) in [("http://", "/"), ("", "://a/")] {
        let (mut work, http) = request("GET", String::new());
        http(&mut work).url = Sealed(vec![text(before), secret(), text(after)]);
        let why = failed(yard.run(work).await);
        assert!(!why.to_lowercase().contains("nowhere"), "{why}");
    }
}

#[tokio::test]
async fn a_request_stays_outside_unless_it_may_come_in() {
    let yard = Yard::new().await;
    let server = server().await;
    let port = server.rsplit(':').next().unwrap();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "10.1.2.3",
    ] {
        let (mut work, http) = request("GET", format!("http://{host}:{port}/echo"));
        http(&mut work).allow_private = false;
        let why = failed(yard.run(work).await);
        assert!(why.contains("private network") || why.contains("leads nowhere"), "{host}: {why}");
    }
    for url in ["file:///etc/passwd", "ftp://example.org/"] {
        let (work, _) = request("GET", url.into());
        assert!(failed(yard.run(work).await).contains("http and https can be called"));
    }
}
