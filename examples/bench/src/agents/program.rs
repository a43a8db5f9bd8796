//! The programs inside the sessions: one that calls tools, one that messages are pushed to, one that
//! asks its hooks for them.

use anyhow::{Context, Result};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use serde_json::{Value, json};
use std::{
    env,
    io::{self, Write as _},
    net::SocketAddr,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::{
    TcpStream,
    tcp::{OwnedReadHalf, OwnedWriteHalf},
};

use super::client::{Era, Tools};
use crate::agent::{Hooks, NOBODY, now};

struct Meeting {
    hear: Lines<BufReader<OwnedReadHalf>>,
    tell: OwnedWriteHalf,
}

impl Meeting {
    async fn at(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context(NOBODY)?;
        stream.set_nodelay(true)?;
        let (hear, tell) = stream.into_split();
        Ok(Self { hear: BufReader::new(hear).lines(), tell })
    }

    async fn say(&mut self, at: i64, word: &str) -> Result<()> {
        Ok(self.tell.write_all(format!("{at} {word}\n").as_bytes()).await?)
    }
}

/// Calls the tool in each line it is sent, `WORD TOOL ARGUMENTS`, and says when it began and when it
/// had the answer.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn caller(address: &str) -> Result<()> {
    let mut meeting = Meeting::at(address).await?;
    let hooks = Hooks::from_env()?;
    hooks.call("SessionStart", json!({ "source": "startup" })).await?;
    let mut tools: Option<Tools> = None;
    while let Some(line) = meeting.hear.next_line().await? {
        let mut words = line.splitn(3, ' ');
        let (word, tool) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let arguments = serde_json::from_str(words.next().unwrap_or("{}"))?;
        // As a daemon that was started anew has to be greeted anew.
        if tools.is_none() || tool == "connect" {
            tools = Some(connect().await?);
        }
        let Some(tools) = tools.as_mut().filter(|_| tool != "connect") else {
            meeting.say(now(), word).await?;
            continue;
        };
        let began = now();
        tools.call(tool, arguments).await?;
        let ended = now();
        meeting.say(began, word).await?;
        meeting.say(ended - began, &format!("{word}-took")).await?;
    }
    Ok(())
}

async fn connect() -> Result<Tools> {
    let url = env::var("VIGIE_MCP_URL").context("there are no tools here")?;
    let authority = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let address: SocketAddr = authority.context("this is no address of tools")?.parse()?;
    Tools::open(address, &env::var("VIGIE_MCP_TOKEN")?, Era::Sessions).await
}

/// Shows an input box as Claude Code does, and says when bytes of each word came into it that begins
/// with `word-`, and when that was entered.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn pushed(address: &str) -> Result<()> {
    let mut meeting = Meeting::at(address).await?;
    let hooks = Hooks::from_env()?;
    let keys = io::stdin();
    let mut raw = tcgetattr(&keys)?;
    cfmakeraw(&mut raw);
    tcsetattr(&keys, SetArg::TCSANOW, &raw)?;
    let mut input = InputBox::default();
    input.draw()?;
    hooks.call("SessionStart", json!({ "source": "startup" })).await?;
    let mut keys = tokio::io::stdin();
    let mut bytes = [0; 16384];
    let mut turn = 0;
    loop {
        let count = keys.read(&mut bytes).await?;
        let at = now();
        if count == 0 {
            return Ok(());
        }
        let entered = input.take(&bytes[..count]);
        input.draw()?;
        if let Some(word) = input.fresh_word() {
            meeting.say(at, &word).await?;
        }
        if let Some(prompt) = entered {
            turn += 1;
            let id = json!(format!("turn-{turn}"));
            hooks.call("UserPromptSubmit", json!({ "prompt_id": id, "prompt": prompt })).await?;
            let end = json!({ "prompt_id": id, "last_assistant_message": "I have read it." });
            hooks.call("Stop", end).await?;
        }
    }
}

/// A line of text between two rules.
#[derive(Default)]
struct InputBox {
    text: String,
    told: bool,
}

impl InputBox {
    /// Takes what was typed; gives back what was entered.
    fn take(&mut self, bytes: &[u8]) -> Option<String> {
        let typed = String::from_utf8_lossy(bytes);
        let typed = typed.replace("\x1b[200~", "").replace("\x1b[201~", "");
        let mut entered = None;
        for c in typed.chars() {
            match c {
                '\r' if bytes.len() == 1 => {
                    self.told = false;
                    entered = Some(std::mem::take(&mut self.text));
                }
                '\x03' => self.text.clear(),
                '\r' => self.text.push('\n'),
                c => self.text.push(c),
            }
        }
        entered
    }

    fn fresh_word(&mut self) -> Option<String> {
        let word = self.text.split_whitespace().find(|word| word.starts_with("word-"))?.to_owned();
        (!std::mem::replace(&mut self.told, true)).then_some(word)
    }

    fn draw(&self) -> Result<()> {
        let rule = "─".repeat(40);
        let text = self.text.replace('\n', "\r\n  ");
        let mut screen = io::stdout();
        write!(screen, "\x1b[2J\x1b[H{rule}\r\n❯ {text}\r\n{rule}\r\n")?;
        Ok(screen.flush()?)
    }
}

/// Works without an end and asks its hooks, as often as they answer, for what goes beside a tool's
/// result; says when a word came that begins with `word-`.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn beside(address: &str) -> Result<()> {
    let mut meeting = Meeting::at(address).await?;
    let hooks = Hooks::from_env()?;
    hooks.call("SessionStart", json!({ "source": "startup" })).await?;
    hooks.call("UserPromptSubmit", json!({ "prompt_id": "turn", "prompt": "go on" })).await?;
    loop {
        let answer = hooks.call("PostToolBatch", json!({ "prompt_id": "turn", "tool_calls": [] }));
        let answer = answer.await?;
        let at = now();
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        for word in text.split_whitespace().filter(|word| word.starts_with("word-")) {
            meeting.say(at, word).await?;
        }
    }
}
