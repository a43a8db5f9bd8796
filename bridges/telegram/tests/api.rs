//! What the client makes of a network as it is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod common;

use common::{DEADLINE, Reply, SECRET, Server, api, impatient, token};
use std::{net::TcpListener, time::Duration};
use vigie_bridge_kit::names::NewFile;
use vigie_telegram::api::{
    Api, Attachment, BaseUrl, CallError, DownloadError, FilePath, GetMe, GetUpdates, NoPreview,
    Patience, Refusal, SendDocument, SendMessage, TgChat, TgMessage, TgUser, UpdateId,
};

fn message() -> SendMessage {
    SendMessage {
        chat_id: TgChat(1001),
        message_thread_id: None,
        text: "hello".into(),
        entities: Vec::new(),
        link_preview_options: NoPreview,
        disable_notification: false,
        reply_parameters: None,
        reply_markup: None,
    }
}

fn ask(timeout: u16) -> GetUpdates {
    GetUpdates { offset: Some(UpdateId(7)), limit: 100, timeout, allowed_updates: &["message"] }
}

/// The error, after making sure that it tells nobody the token.
fn told<T: std::fmt::Debug, E: std::error::Error>(result: Result<T, E>) -> E {
    let error = result.unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(!said.contains(SECRET), "{said}");
    error
}

#[tokio::test]
async fn a_call_is_one_post_to_the_methods_address() {
    let server = Server::start([Reply::ok(r#"{"message_id":9,"date":1,"new":{}}"#)]);
    let sent = server.api(Patience::default()).call(&message()).await.unwrap();
    assert_eq!(sent.message_id, TgMessage(9));
    let requests = server.requests(1);
    assert_eq!(requests[0].line.trim(), format!("POST /bot123456:{SECRET}/sendMessage HTTP/1.1"));
    assert!(requests[0].headers.contains("content-type: application/json"));
    assert_eq!(
        requests[0].body,
        r#"{"chat_id":1001,"text":"hello","link_preview_options":{"is_disabled":true}}"#
    );
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let api = api(&format!("http://127.0.0.1:{port}"), Patience::default());
    let error = told(api.call(&message()).await);
    assert!(matches!(error, CallError::NotSent { .. }), "{error}");
}

#[tokio::test]
async fn without_encryption_nothing_was_sent() {
    // The listener never answers the handshake; a machine without certificates cannot even begin it.
    let server = Server::start([]);
    let base: BaseUrl = server.url().replace("http://", "https://").parse().unwrap();
    let Ok(api) = Api::new(token(), base, impatient()) else { return };
    let error = told(api.call(&message()).await);
    assert!(matches!(error, CallError::NotSent { .. }), "{error}");
}

#[tokio::test]
async fn a_broken_answer_leaves_it_in_doubt_and_is_not_tried_again() {
    let page = "<html><head><title>502 Bad Gateway</title></head></html>";
    for reply in [
        Reply::Drop,
        Reply::Cut(r#"{"ok":true,"result":{"message_id":9}}"#.into()),
        Reply::Answer(502, "Content-Type: text/html\r\n", page.into()),
        Reply::Answer(200, "", r#"{"ok":true,"resu"#.into()),
        Reply::Hang,
    ] {
        let server = Server::start([reply, Reply::ok(r#"{"message_id":10}"#)]);
        let error = told(server.api(impatient()).call(&message()).await);
        assert!(matches!(error, CallError::InDoubt { .. }), "{error}");
        server.requests(1);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([Reply::ok("true")]);
    let location = format!("Location: {}/x\r\n", elsewhere.url());
    let reply = Reply::Answer(302, Box::leak(location.into_boxed_str()), String::new());
    let server = Server::start([reply]);
    let error = told(server.api(Patience::default()).call(&message()).await);
    assert!(matches!(error, CallError::InDoubt { .. }), "{error}");
    elsewhere.requests(0);
}

#[tokio::test]
async fn waits_and_refusals_say_what_to_do() {
    let server = Server::start([
        Reply::Answer(429, "Retry-After: 7\r\n", "<html>slow down".into()),
        Reply::refused(400, "Bad Request: message thread not found"),
        Reply::refused(401, "Unauthorized"),
        Reply::Answer(404, "", format!("Cannot POST /bot123456:{SECRET}/getMe")),
    ]);
    let api = server.api(Patience::default());
    let error = told(api.call(&message()).await);
    assert_eq!(error, CallError::TooMany { after: Duration::from_secs(7) });
    assert_eq!(error.to_string(), "Telegram asks to wait 7 s");
    let error = told(api.call(&message()).await);
    assert_eq!(error.refusal(), Some(Refusal::ThreadNotFound));
    assert_eq!(told(api.call(&GetMe {}).await).refusal(), Some(Refusal::Unauthorized));
    assert_eq!(told(api.call(&GetMe {}).await).refusal(), Some(Refusal::NotFound));
}

#[tokio::test]
async fn polling_and_sending_do_not_share_a_connection() {
    let server = Server::start([
        Reply::ok(r#"{"id":123456,"is_bot":true}"#),
        Reply::ok(r#"[{"update_id":7,"message":{"new":"\u0041"}}]"#),
        Reply::ok(r#"{"id":123456,"is_bot":true}"#),
        Reply::ok("[]"),
    ]);
    let api = server.api(Patience::default());
    assert_eq!(api.call(&GetMe {}).await.unwrap().id, TgUser(123_456));
    let updates = api.poll(&ask(50)).await.unwrap();
    assert_eq!(updates[0].id, UpdateId(7));
    assert_eq!(updates[0].json, r#"{"update_id":7,"message":{"new":"\u0041"}}"#);
    api.call(&GetMe {}).await.unwrap();
    api.poll(&ask(50)).await.unwrap();
    let connections: Vec<usize> =
        server.requests(4).iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 1, 0, 1]);
}

#[tokio::test]
async fn a_poll_that_does_not_come_back_ends_and_new_connections_help() {
    let server = Server::start([Reply::ok("[]"), Reply::Hang, Reply::ok("[]"), Reply::ok("[]")]);
    let api = server.api(impatient());
    api.poll(&ask(0)).await.unwrap();
    let late = tokio::time::timeout(DEADLINE, api.poll(&ask(0))).await;
    let error = told(late.expect("it ends by itself"));
    assert!(error.to_string().contains("no answer in time"), "{error}");
    api.poll(&ask(0)).await.unwrap();
    api.fresh().unwrap();
    api.poll(&ask(0)).await.unwrap();
    let connections: Vec<usize> =
        server.requests(4).iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 1, 2]);
}

#[tokio::test]
async fn a_file_goes_out_with_its_fields() {
    let server = Server::start([Reply::ok(r#"{"message_id":9}"#)]);
    let document = SendDocument {
        chat_id: TgChat(-5),
        message_thread_id: None,
        caption: "12 lines".into(),
        caption_entities: Vec::new(),
        disable_notification: true,
        reply_parameters: None,
        reply_markup: None,
    };
    let file = Attachment::new("../ré\"ply.rs", "fn main() {}\n");
    server.api(Patience::default()).upload(&document, &file).await.unwrap();
    let requests = server.requests(1);
    assert!(requests[0].line.contains("/sendDocument "));
    assert!(requests[0].headers.contains("content-type: multipart/form-data; boundary="));
    for part in [
        "name=\"chat_id\"\r\n\r\n-5\r\n",
        "name=\"caption\"\r\n\r\n12 lines\r\n",
        "name=\"disable_notification\"\r\n\r\ntrue\r\n",
        "name=\"document\"; filename=\"ré_ply.rs\"\r\n",
        "\r\n\r\nfn main() {}\n\r\n",
    ] {
        assert!(requests[0].body.contains(part), "{part:?} in {}", requests[0].body);
    }
    assert!(!requests[0].body.contains("reply_markup"));
}

async fn download(reply: Reply, limit: u64) -> (Result<u64, DownloadError>, Vec<u8>) {
    let server = Server::start([reply]);
    let folder = tempfile::tempdir().unwrap();
    let file = NewFile::create(folder.path(), "x").unwrap();
    let path = FilePath::new("documents/file_1.pdf");
    let mut writer = file.writer().unwrap();
    let result = server.api(impatient()).download(&path, &mut writer, limit).await;
    let line = server.requests(1).remove(0).line;
    assert_eq!(line.trim(), format!("GET /file/bot123456:{SECRET}/documents/file_1.pdf HTTP/1.1"));
    (result, std::fs::read(file.path()).unwrap())
}

#[tokio::test]
async fn a_file_comes_in_up_to_its_limit() {
    let file = || "x".repeat(100);
    let (length, bytes) = download(Reply::Answer(200, "", file()), 100).await;
    assert_eq!((length.unwrap(), bytes.len()), (100, 100));
    let (result, bytes) = download(Reply::Answer(200, "", file()), 99).await;
    assert!(matches!(told(result), DownloadError::TooLong { limit: 99 }));
    assert!(bytes.is_empty());
    let (result, bytes) = download(Reply::Endless(file()), 99).await;
    assert!(matches!(told(result), DownloadError::TooLong { limit: 99 }));
    assert!(bytes.len() <= 99);
}

#[tokio::test]
async fn a_file_that_breaks_off_is_no_file() {
    for reply in [Reply::Cut("x".repeat(100)), Reply::Drop, Reply::Hang] {
        let (result, _) = download(reply, 1_000).await;
        let error = told(result);
        assert!(matches!(error, DownloadError::Call(CallError::InDoubt { .. })), "{error}");
    }
    let (result, bytes) = download(Reply::refused(404, "Not Found"), 1_000).await;
    let DownloadError::Call(error) = told(result) else { panic!("a refusal") };
    assert_eq!((error.refusal(), bytes.len()), (Some(Refusal::NotFound), 0));
}

#[test]
fn the_client_does_not_print_its_token() {
    let said = format!("{:?}", api("http://127.0.0.1:1", Patience::default()));
    assert!(said.contains("127.0.0.1") && !said.contains(SECRET), "{said}");
}
