//! The plainest bot: it polls and sends back what it got, over two connections that stay open. No
//! disk, no rights, no queue.

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::time::Instant;
use telegram_emulator::{ADA, Emulator, World};
use tokio::{net::TcpStream, task::JoinSet};

use super::{DEADLINE, ms};

/// What a poll may wait, in seconds.
const POLL: u64 = 50;

/// The bot and its own Telegram.
pub(super) struct Echo {
    emulator: Emulator,
    _bot: JoinSet<Result<()>>,
}

impl Echo {
    pub(super) async fn start() -> Result<Self> {
        // Nothing is measured of its flood control: it says one thing at a time.
        let world = World { flood: false, patience: DEADLINE, ..World::default() };
        let emulator = Emulator::start(world);
        let (polls, sends) = (Line::open(&emulator).await?, Line::open(&emulator).await?);
        let mut bot = JoinSet::new();
        bot.spawn(run(polls, sends));
        emulator.wait_polling().await;
        Ok(Self { emulator, _bot: bot })
    }

    /// Milliseconds from a person's message to its echo.
    pub(super) async fn sample(&self, word: &str) -> f64 {
        let sent = (Instant::now(), self.emulator.clock().now());
        self.emulator.send(ADA, ADA, word).now();
        let shown = self.emulator.wait_message(ADA, None, word).await;
        self.emulator.wait_polling().await;
        ms(sent.0, sent.0 + shown.at.saturating_sub(sent.1))
    }
}

async fn run(mut polls: Line, mut sends: Line) -> Result<()> {
    let mut offset = 0;
    loop {
        let ask = json!({ "offset": offset, "timeout": POLL, "allowed_updates": ["message"] });
        let updates = polls.call("getUpdates", &ask).await?;
        for update in updates.as_array().into_iter().flatten() {
            offset = update["update_id"].as_i64().context("an update without a number")? + 1;
            let message = &update["message"];
            let say = json!({ "chat_id": message["chat"]["id"], "text": message["text"] });
            sends.call("sendMessage", &say).await?;
        }
    }
}

/// One connection to the Bot API.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: String,
    _driver: JoinSet<()>,
}

impl Line {
    async fn open(emulator: &Emulator) -> Result<Self> {
        let host = emulator.url().trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let _ = connection.await; // whoever calls next hears of it
        });
        Ok(Self { sender, host, token: emulator.token(), _driver: driver })
    }

    async fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        let request = Request::post(format!("/bot{}/{method}", self.token))
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(params.to_string())))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let body = answer.into_body().collect().await?.to_bytes();
        let mut answer: Value = serde_json::from_slice(&body)?;
        if answer["ok"] != true {
            bail!("{method} was refused: {answer}");
        }
        Ok(answer["result"].take())
    }
}
