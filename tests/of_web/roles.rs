//! What each may do who gets in: by role, by token, as the desk, as an agent.

use super::super::*;

#[tokio::test]
async fn a_role_bounds_what_a_login_may_do() {
    let home = Home::start().await;
    let (cookie, pass) = home.sign_in_whole("tomas").await;
    let ask = |request: hyper::http::request::Builder| {
        let request = request.header("x-vigie-pass", &pass);
        empty(request.header(header::COOKIE, &cookie).header(header::ORIGIN, home.origin()))
    };
    let host = home.at.to_string();
    let answer = home.ask(ask(home.get("/api/v1/status"))).await;
    assert_eq!(answer.status(), StatusCode::OK);
    for deed in ["stop", "keys"] {
        let path = format!("/api/v1/sessions/PD-285/{deed}");
        let post = Request::post(path).header(header::HOST, &host);
        let answer = home.ask(ask(post)).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{deed}");
        assert!(std::str::from_utf8(answer.body()).unwrap().contains("\"role\""));
    }
    let answer = home.ask(ask(home.get("/phone"))).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN, "`phone = false`");
}

#[tokio::test]
async fn the_web_does_not_let_people_in_or_stop_vigie() {
    let home = Home::start().await;
    let (cookie, pass) = home.sign_in_whole("ines").await;
    for (method, path) in [
        ("POST", "/api/v1/links"),
        ("POST", "/api/v1/pair"),
        ("POST", "/api/v1/tokens"),
        ("GET", "/api/v1/tokens"),
        ("DELETE", "/api/v1/tokens/ci"),
        ("POST", "/api/v1/down"),
        ("GET", "/api/v1/matrix"),
        ("GET", "/api/v1/matrix/verifications"),
        ("POST", "/api/v1/matrix/verifications"),
        ("POST", "/api/v1/matrix/verifications/ver_1/accept"),
        ("POST", "/api/v1/matrix/verifications/ver_1/confirm"),
        ("POST", "/api/v1/matrix/people/@ines:example.org/accept"),
    ] {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, home.at.to_string())
            .header(header::ORIGIN, home.origin())
            .header(header::COOKIE, &cookie)
            .header("x-vigie-pass", &pass);
        let answer = home.ask(empty(request)).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{path}");
        assert!(std::str::from_utf8(answer.body()).unwrap().contains("desk_only"));
    }
    assert!(!home.tasks.stopping().is_cancelled());
}

#[tokio::test]
async fn the_desk_speaks_as_the_owner() {
    let home = Home::start().await;
    let status: StatusShape = home.desk().get("/status").await.unwrap();
    assert_eq!((status.pending_deliveries, status.daemon.pid), (1, std::process::id()));
    let done: Done = home.desk().post("/sessions/PD-285/stop", &json!({})).await.unwrap();
    assert_eq!(done.words, "PD-285 by ines over the command line");
}

#[tokio::test]
async fn the_desk_gives_codes_that_nobody_could_guess() {
    let home = Home::start().await;
    let mut codes = Vec::new();
    for _ in 0..3 {
        let new = NewPairing { human: Some("tomas".into()) };
        let pairing: PairingShape = home.desk().post("/pair", &new).await.unwrap();
        assert_eq!(pairing.human, "tomas");
        let service = &pairing.services[0];
        assert_eq!(service.link.as_deref(), Some("https://crows.example.org/quay_bot"));
        assert_eq!(service.trouble.as_deref(), Some("they sleep"));
        assert!(PairingCode::parse(&pairing.code).is_some(), "{}", pairing.code);
        codes.push(pairing.code);
    }
    codes.dedup();
    assert_eq!(codes.len(), 3, "{codes:?}");
    let unnamed: PairingShape = home.desk().post("/pair", &json!({})).await.unwrap();
    assert_eq!(unnamed.human, "ines", "whoever asks");
}

#[tokio::test]
async fn the_desk_sees_who_is_heard_and_takes_it_back() {
    let home = Home::start().await;
    let people: Value = home.desk().get("/people").await.unwrap();
    let chat = json!({ "bridge": "crows", "chat": "-7", "room": "forum", "by": "ines", "shut": "thrown out", "held": false });
    assert_eq!(people, json!({ "identities": [], "chats": [chat] }));
    let _: PeopleShape = serde_json::from_value(people).unwrap();
    let done: Done = home.desk().delete("/people/crows/-7").await.unwrap();
    assert_eq!(done.words, "-7@crows");
    let status: StatusShape = home.desk().get("/status").await.unwrap();
    assert_eq!(status.bridges[0].trouble.as_deref(), Some("they sleep"));
}

#[tokio::test]
async fn a_token_is_told_once_and_kept_as_a_hash() {
    let home = Home::start().await;
    let new = NewToken { name: "ci".into(), scopes: Some([TokenScope::Read].into()) };
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let made: MadeToken = home.desk().post("/tokens", &new).await.unwrap();
        assert!(made.token.starts_with("vgt_") && made.token.len() == 4 + 64, "{}", made.token);
        let hash = format!("{:x}", Sha256::digest(made.token.as_bytes()));
        assert_eq!(made.about.name, format!("ci {hash}"), "its hash is all that is told");
        assert_eq!(made.about.scopes, [TokenScope::Read].into());
        assert_eq!(made.url, format!("http://{}/mcp", home.at));
        assert!(!format!("{made:?}").contains(&made.token), "not in a log either");
        secrets.push(made.token);
    }
    assert_ne!(secrets[0], secrets[1]);

    let whole: MadeToken = home.desk().post("/tokens", &json!({ "name": "ci" })).await.unwrap();
    assert_eq!(whole.about.scopes, TokenScope::ALL.into(), "when none are named");
    for wrong in [json!([]), json!(["approve"]), json!("read")] {
        let body = json!({ "name": "ci", "scopes": wrong });
        let error = home.desk().post::<_, Value>("/tokens", &body).await.unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
    let valid: Vec<TokenShape> = home.desk().get("/tokens").await.unwrap();
    assert_eq!(valid.len(), 1, "those that are revoked are not listed");
    let done: Done = home.desk().delete("/tokens/claude%2Dcode").await.unwrap();
    assert_eq!(done.words, "claude-code is over");
}

#[tokio::test]
async fn people_look_through_what_sessions_write() {
    let home = Home::start().await;
    let ask = async |path: &str| home.desk().get::<Vec<MailShape>>(path).await;
    let usual = ask("/mail").await.unwrap().remove(0);
    assert_eq!((usual.text.as_str(), usual.number), ("None None None 50", 7));
    assert_eq!((usual.from.as_str(), usual.to.as_str()), ("human:ines", "human"));
    assert_eq!((usual.state.as_str(), usual.why.as_deref()), ("dead", Some("it is old")));
    let thread = MailId::from_parts(Timestamp::default(), 9);
    let path = format!("/mail?with=PD-285&words=a%20b&before=3&most=2&thread={thread}");
    let narrow = ask(&path).await.unwrap().remove(0);
    assert_eq!(narrow.text, "Some(\"PD-285\") Some(\"a b\") Some(3) 2");
    assert_eq!(narrow.thread, thread.to_string());
    let error = ask("/mail?thread=7").await.unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[tokio::test]
async fn an_agent_does_not_command_vigie() {
    let home = Home::start_with(|_| Peer::Agent { folder: None }).await;
    let refused = home.desk().get::<StatusShape>("/status").await.unwrap_err();
    assert!(
        matches!(&refused, ClientError::Refused(shape) if shape.code == "inside_a_session"),
        "{refused}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_agent_does_not_come_in_with_a_cookie_either() {
    let agent = |_| Peer::Agent { folder: Some("/run".into()) };
    let home = Home::start_with(agent).await;
    for path in ["/", "/login", "/phone", "/api/v1/status"] {
        let answer = home.ask(empty(home.get(path))).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{path}");
        assert!(std::str::from_utf8(answer.body()).unwrap().contains("inside_a_session"));
    }
}
