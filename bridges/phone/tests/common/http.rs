//! Just enough HTTP to ask the page's questions, and to read its live stream as it comes.

use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use super::DEADLINE;

#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    pub(crate) headers: BTreeMap<&'static str, String>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

impl Client {
    /// `person` as the login knows them.
    pub(crate) fn new(address: SocketAddr, person: &str) -> Self {
        let headers = [
            ("x-person", person.to_owned()),
            ("x-vigie", "1".into()),
            ("content-type", "application/json".into()),
        ];
        Self { address, headers: headers.into() }
    }

    pub(crate) fn without(&self, header: &str) -> Self {
        let mut other = self.clone();
        other.headers.remove(header).unwrap();
        other
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        timeout(DEADLINE, self.ask("GET", path, "")).await.expect("an answer in time")
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string()).await
    }

    pub(crate) async fn post_text(&self, path: &str, body: &str) -> Answer {
        timeout(DEADLINE, self.ask("POST", path, body)).await.expect("an answer in time")
    }

    /// Sends a text to the main chat; `client` is the page's own id for it.
    pub(crate) async fn send(&self, client: &str, text: &str) -> Answer {
        self.post("/phone/api/send", &json!({ "client": client, "text": text })).await
    }

    pub(crate) async fn tap(&self, client: &str, message: &str, action: &Value) -> Answer {
        let body = json!({ "client": client, "message": message, "action": action });
        self.post("/phone/api/tap", &body).await
    }

    pub(crate) async fn state(&self) -> Value {
        let answer = self.get("/phone/api/state").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The messages of the main chat, oldest first.
    pub(crate) async fn messages(&self) -> Vec<Value> {
        let answer = self.get("/phone/api/messages").await.json();
        answer["messages"].as_array().unwrap().clone()
    }

    /// Everything after `cursor`, as one list of messages and the next cursor.
    pub(crate) async fn changes(&self, cursor: &str) -> Value {
        self.get(&format!("/phone/api/changes?from={cursor}")).await.json()
    }

    pub(crate) async fn live(&self, path: &str, last: Option<&str>) -> Live {
        let mut stream = self.send_head("GET", path, "", last).await;
        let (status, _) = timeout(DEADLINE, head(&mut stream)).await.unwrap();
        assert_eq!(status, 200);
        Live { stream, text: String::new() }
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = self.send_head(method, path, body, None).await;
        let (status, headers) = head(&mut stream).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        Answer { status, headers, body: String::from_utf8(bytes).unwrap() }
    }

    async fn send_head(
        &self,
        method: &str,
        path: &str,
        body: &str,
        last: Option<&str>,
    ) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for (name, value) in &self.headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        if let Some(last) = last {
            write!(request, "last-event-id: {last}\r\n").unwrap();
        }
        write!(request, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        // A server that refuses a long body may close before it has read all of it.
        let _ = stream.write_all(request.as_bytes()).await;
        BufReader::new(stream)
    }
}

async fn head(stream: &mut BufReader<TcpStream>) -> (u16, BTreeMap<String, String>) {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    (status, headers)
}

/// A live stream, event by event.
pub(crate) struct Live {
    stream: BufReader<TcpStream>,
    text: String,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Live {
    /// The next event; `None` when the server ended the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        timeout(DEADLINE, self.read()).await.expect("an event in time")
    }

    /// Whether nothing comes for a moment.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        timeout(Duration::from_millis(200), self.read()).await.is_err()
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(parse(&event));
            }
            // The lengths of the chunks stand between them, each on a line of its own.
            let mut size = String::new();
            if self.stream.read_line(&mut size).await.ok()? == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.ok()?;
            self.text += std::str::from_utf8(&chunk[..size]).unwrap();
        }
    }
}

fn parse(text: &str) -> Event {
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned)
    };
    Event {
        name: field("event").unwrap(),
        id: field("id"),
        data: serde_json::from_str(&field("data").unwrap()).unwrap(),
    }
}
