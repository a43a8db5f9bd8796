//! The programs inside the sessions. Each meets the benchmark at a loopback address and speaks in
//! lines: a time in nanoseconds since 1970, and a word.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _},
    time::sleep,
};
use vigie::{agents::hook_call::Holder, clock::Clock};

/// Nanoseconds since 1970, of the clock that all of one machine share.
pub(crate) fn now() -> i64 {
    Clock::system().now().timestamp_nanos_opt().unwrap_or_default()
}

pub(crate) const NOBODY: &str = "nobody waits for this program";

fn meet(address: &str) -> Result<(BufReader<TcpStream>, TcpStream)> {
    let stream = TcpStream::connect(address).context(NOBODY)?;
    stream.set_nodelay(true)?;
    Ok((BufReader::new(stream.try_clone()?), stream))
}

/// Says when each line came into its terminal, and answers it.
pub(crate) fn stamp(address: &str) -> Result<()> {
    let (_, mut tell) = meet(address)?;
    let mut screen = io::stdout();
    let prompt = |screen: &mut io::Stdout| screen.write_all(b"> ").and_then(|()| screen.flush());
    prompt(&mut screen)?;
    for line in io::stdin().lock().lines() {
        let (at, line) = (now(), line?);
        writeln!(tell, "{at} {}", line.trim())?;
        writeln!(screen, "read {}.", line.trim())?;
        prompt(&mut screen)?;
    }
    Ok(())
}

/// How the agents at work use their time: a turn of half a minute with ten tools, and a pause.
const TOOLS: u32 = 10;
const TOOL: Duration = Duration::from_millis(2800);
const PAUSE: Duration = Duration::from_secs(2);

/// Before an answer, so that what is said of its question is said before.
const THINKS: Duration = Duration::from_millis(500);

/// Works without an end, as far as its hooks tell.
pub(crate) fn work() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work_on())
}

async fn work_on() -> Result<()> {
    let hooks = Hooks::from_env()?;
    hooks.call("SessionStart", json!({ "source": "startup" })).await?;
    for turn in 1.. {
        let id = json!(format!("turn-{turn}"));
        let prompt = format!("work on part {turn}");
        hooks.call("UserPromptSubmit", json!({ "prompt_id": id, "prompt": prompt })).await?;
        for number in 0..TOOLS {
            let command = format!("cargo test --package tides_{turn}_{number}");
            let call = json!({
                "prompt_id": id, "tool_use_id": format!("use-{turn}-{number}"),
                "tool_name": "Bash", "tool_input": { "command": command },
            });
            hooks.call("PreToolUse", call.clone()).await?;
            sleep(TOOL).await;
            hooks.call("PostToolUse", call).await?;
        }
        let said = format!("Part {turn} is done.");
        hooks.call("Stop", json!({ "prompt_id": id, "last_assistant_message": said })).await?;
        sleep(PAUSE).await;
    }
    Ok(())
}

/// The way to the holder, as Claude Code's hooks go.
pub(crate) struct Hooks {
    holder: Holder,
    conversation: Option<String>,
    cwd: PathBuf,
}

impl Hooks {
    pub(crate) fn from_env() -> Result<Self> {
        let conversation = env::args().skip_while(|word| word != "--session-id").nth(1);
        Ok(Self { holder: Holder::from_env()?, conversation, cwd: env::current_dir()? })
    }

    /// What the holder answers, as it answers the agent.
    pub(crate) async fn call(&self, name: &str, mut event: Value) -> Result<Vec<u8>> {
        event["hook_event_name"] = json!(name);
        event["session_id"] = json!(self.conversation);
        event["cwd"] = json!(self.cwd);
        Ok(self.holder.call(event.to_string().into_bytes()).await?.into())
    }
}

/// Ends a turn for every word it is sent, with an answer that has the word in it, and says when.
pub(crate) fn answer(address: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answer_all(address))
}

async fn answer_all(address: &str) -> Result<()> {
    let stream = tokio::net::TcpStream::connect(address).await.context(NOBODY)?;
    stream.set_nodelay(true)?;
    let (hear, mut tell) = stream.into_split();
    let mut hear = tokio::io::BufReader::new(hear).lines();
    let hooks = Hooks::from_env()?;
    hooks.call("SessionStart", json!({ "source": "startup" })).await?;
    while let Some(word) = hear.next_line().await? {
        let prompt = format!("say {word}");
        hooks.call("UserPromptSubmit", json!({ "prompt_id": word, "prompt": prompt })).await?;
        sleep(THINKS).await;
        let said = format!("{word} is done");
        let at = now();
        let end = json!({ "prompt_id": word, "last_assistant_message": said });
        hooks.call("Stop", end).await?;
        tell.write_all(format!("{at} {word}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Asks for a permission for every word it is sent, and says when; the next line takes it back.
pub(crate) fn ask(address: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(ask_all(address))
}

async fn ask_all(address: &str) -> Result<()> {
    let stream = tokio::net::TcpStream::connect(address).await.context(NOBODY)?;
    stream.set_nodelay(true)?;
    let (hear, mut tell) = stream.into_split();
    let mut hear = tokio::io::BufReader::new(hear).lines();
    let hooks = Hooks::from_env()?;
    hooks.call("SessionStart", json!({ "source": "startup" })).await?;
    while let Some(word) = hear.next_line().await? {
        let command = format!("cargo publish --token {word}");
        let event = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        let at = now();
        let call = hooks.call("PermissionRequest", event);
        let taken_back = async {
            tell.write_all(format!("{at} {word}\n").as_bytes()).await?;
            hear.next_line().await
        };
        tokio::select! {
            biased; // the call goes out first
            answer = call => drop(answer?),
            line = taken_back => drop(line?),
        }
    }
    Ok(())
}

/// Prints so many megabytes as fast as the terminal takes them, and says how long that took.
pub(crate) fn flood(address: &str, megabytes: &str) -> Result<()> {
    let megabytes: usize = megabytes.parse().context("megabytes are a whole number")?;
    let (mut hear, mut tell) = meet(address)?;
    let block = build_output(1 << 20);
    let mut line = String::new();
    hear.read_line(&mut line)?;
    let start = Instant::now();
    let mut screen = io::stdout().lock();
    for _ in 0..megabytes {
        screen.write_all(&block)?;
    }
    screen.flush()?;
    writeln!(tell, "{} printed", start.elapsed().as_nanos())?;
    hear.read_line(&mut line)?; // stays until it was read
    Ok(())
}

/// What a long build prints: plain lines, some with colours, a few letters beyond ASCII.
fn build_output(size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size + 256);
    let mut number = 0;
    while bytes.len() < size {
        number += 1;
        let line = match number % 4 {
            0 => format!("\x1b[1m\x1b[32m   Compiling\x1b[0m harbour-{number} v0.{number}.1\r\n"),
            1 => format!(
                "warning: unused variable `quay_{number}` in src/tides/table.rs:{number}:17\r\n"
            ),
            2 => format!(
                "\x1b[38;5;12m{number:>5} |\x1b[0m     let height = tide.height_at(hour) + {number}; // marée\r\n"
            ),
            _ => format!("test tides::case_{number} ... \x1b[32mok\x1b[0m\r\n"),
        };
        bytes.extend(line.bytes());
    }
    bytes
}
