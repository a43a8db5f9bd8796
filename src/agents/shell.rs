//! Any interactive program in a terminal: a shell, a debugger, a language's prompt. It gives no
//! signals of its own, so everything here is told from what it prints:
//!
//! - A prompt goes in as a paste in brackets where the program switched that on, otherwise line by
//!   line as if typed, each line ended by Enter. A shell without bracketed paste therefore runs a
//!   text of several lines line by line, and a terminal in line mode takes at most 4,095 bytes a
//!   line (termios(3), canonical mode).
//! - It is taken when its bytes are in the terminal, and its turn is over when the program shows
//!   its prompt again (`prompt_ends`) or, without one, has printed nothing for [`QUIET`].
//! - While it works, prompts wait; when it has printed nothing for [`QUIET`] they go in all the
//!   same, because it may be asking something.

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use std::{
    collections::{BTreeMap, VecDeque},
    io,
    pin::Pin,
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};
use vigie_core::{
    agent::{AgentEvent, Doing, Held, Order, OrderKind, RefusedPrompt, Settled},
    id::PromptId,
};

use super::{AgentIo, CommandLine, Screen, Spec};
use crate::clock::Clock;

/// Nothing printed for so long: the program waits for input, prompt or not.
const QUIET: Duration = Duration::from_secs(2);
/// A prompt has to stand so long, for output may end in one by chance.
const SETTLED: Duration = Duration::from_millis(150);
/// Somebody who typed at the desk less than this ago is still typing.
const DESK: Duration = Duration::from_secs(3);
/// Between two looks at the screen.
const LOOK: Duration = Duration::from_millis(100);
/// For one key to get past a program that does not read.
const KEY: Duration = Duration::from_secs(1);
/// After Ctrl-D, before the terminal hangs up.
const HANG_UP: Duration = Duration::from_secs(3);
/// The rest of the output of a program that is gone.
const DRAIN: Duration = Duration::from_secs(1);
/// Most text of one turn, in bytes; the end counts.
const TEXT: usize = 64 << 10;
/// Prompts that wait here; a person sends a handful.
const WAITING: usize = 100;

const INTERRUPT: u8 = 0x03;
const END_OF_INPUT: u8 = 0x04;

pub(super) fn command_line(spec: &Spec, env: BTreeMap<String, String>) -> CommandLine {
    CommandLine { program: spec.program.clone(), args: spec.args.clone(), env }
}

pub(super) async fn run(io: AgentIo) {
    let pid = io.pid;
    io.reports.report(AgentEvent::Started { pid, version: None, conversation: None }).await;
    io.reports.report(AgentEvent::Now { doing: Doing::Starting }).await;
    Shell {
        printed: io.screen.printed(),
        last_print: Instant::now(),
        state: State::Starting,
        waiting: VecDeque::new(),
        typing: None,
        hang_up: None,
        io,
    }
    .run()
    .await;
}

struct Shell {
    io: AgentIo,
    printed: watch::Receiver<u64>,
    last_print: Instant,
    state: State,
    waiting: VecDeque<Waiting>,
    typing: Option<Typing>,
    hang_up: Option<Instant>,
}

enum State {
    Starting,
    Idle,
    Working(Turn),
}

/// From a prompt to the program's own prompt.
struct Turn {
    /// Where its output begins.
    from: u64,
    typed: String,
    interrupted: bool,
}

struct Waiting {
    prompt: PromptId,
    text: String,
    told: Option<Held>,
}

/// A prompt on its way into the terminal.
struct Typing {
    prompt: PromptId,
    text: String,
    from: u64,
    write: Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>,
}

impl Shell {
    async fn run(mut self) {
        let mut output_lasts = true;
        let mut exited = self.io.exited.clone();
        let gone = async move { exited.wait_for(Option::is_some).await.map(drop) };
        let mut gone = std::pin::pin!(gone);
        let mut look = Instant::now() + LOOK;
        loop {
            tokio::select! {
                _ = &mut gone => break,
                Some(order) = self.io.orders.recv() => self.take(order).await,
                Some(call) = self.io.hooks.recv() => drop(call), // a shell has no hooks
                changed = self.printed.changed(), if output_lasts => {
                    output_lasts = changed.is_ok();
                    self.last_print = Instant::now();
                }
                written = typed(&mut self.typing) => self.typed(written).await,
                () = sleep_until(look) => {
                    look = Instant::now() + LOOK;
                    self.look().await;
                }
            }
        }
        self.leave().await;
    }

    async fn report(&self, event: AgentEvent) {
        self.io.reports.report(event).await;
    }

    async fn take(&mut self, order: Order) {
        match order.what {
            OrderKind::Prompt { prompt, text, form: _ } => {
                let text = cleaned(&text);
                let why = match text.is_empty() {
                    true => RefusedPrompt::Empty,
                    false if self.waiting.len() >= WAITING => {
                        RefusedPrompt::ByAgent { reason: "too many prompts wait already".into() }
                    }
                    false => {
                        self.waiting.push_back(Waiting { prompt, text, told: None });
                        return self.deliver().await;
                    }
                };
                self.report(AgentEvent::PromptRefused { prompt, why }).await;
            }
            OrderKind::Withdraw { prompt } => {
                if let Some(at) = self.waiting.iter().position(|one| one.prompt == prompt) {
                    self.waiting.remove(at);
                    let why = RefusedPrompt::Withdrawn;
                    self.report(AgentEvent::PromptRefused { prompt, why }).await;
                }
            }
            // What is typed here is run, and nothing of another session's ever is.
            OrderKind::Mail { mail, .. } => self.report(AgentEvent::MailReturned { mail }).await,
            OrderKind::Interrupt => self.interrupt().await,
            OrderKind::Answer { request, decision: _ } => {
                self.report(AgentEvent::Settled { request, how: Settled::Gone }).await;
            }
            OrderKind::End => {
                self.stop_typing().await;
                let _ = timeout(KEY, self.io.keys.write([END_OF_INPUT])).await;
                self.hang_up = Some(Instant::now() + HANG_UP);
            }
            OrderKind::Kill => {} // the holder's own business
        }
    }

    async fn interrupt(&mut self) {
        self.stop_typing().await;
        if let State::Working(turn) = &mut self.state {
            turn.interrupted = true;
        }
        // A key waits behind what the program has not read; a signal does not.
        if timeout(KEY, self.io.keys.write([INTERRUPT])).await.is_err()
            && let Some(group) = foreground(self.io.pid)
        {
            let _ = killpg(group, Signal::SIGINT);
        }
    }

    /// What is not in the terminal yet stays out of it.
    async fn stop_typing(&mut self) {
        if let Some(Typing { prompt, .. }) = self.typing.take() {
            let why = RefusedPrompt::NoSignal;
            self.report(AgentEvent::PromptRefused { prompt, why }).await;
        }
    }

    async fn look(&mut self) {
        if self.hang_up.is_some_and(|at| Instant::now() >= at) {
            self.hang_up = None;
            let leader = Pid::from_raw(i32::try_from(self.io.pid).expect("a process id"));
            let _ = kill(leader, Signal::SIGHUP);
        }
        if self.typing.is_none() && self.shows_prompt() {
            self.finish_turn().await;
        }
        self.deliver().await;
    }

    fn shows_prompt(&self) -> bool {
        let quiet = self.last_print.elapsed();
        let Some(ends) = self.io.spec.prompt_ends.as_deref() else {
            return quiet >= QUIET && !self.runs_another();
        };
        let answered = match &self.state {
            State::Working(turn) => *self.printed.borrow() > turn.from,
            State::Starting | State::Idle => true,
        };
        answered && quiet >= SETTLED && ends_in_prompt(&self.io.screen, ends)
    }

    /// Known only where the configuration says what a prompt looks like.
    fn has_left_its_prompt(&self) -> bool {
        let ends = self.io.spec.prompt_ends.as_deref();
        ends.is_some_and(|ends| !ends_in_prompt(&self.io.screen, ends))
    }

    /// The shell has put another program into the foreground of its terminal.
    fn runs_another(&self) -> bool {
        let own = i32::try_from(self.io.pid).map(Pid::from_raw).ok();
        foreground(self.io.pid).is_some_and(|group| Some(group) != own)
    }

    async fn finish_turn(&mut self) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => return,
            State::Starting => {}
            State::Working(turn) if turn.interrupted => {
                self.report(AgentEvent::Interrupted { turn: None }).await;
            }
            State::Working(turn) => {
                let text = self.text_of(&turn);
                self.report(AgentEvent::Finished { turn: None, text, provisional: false }).await;
            }
        }
        self.report(AgentEvent::Now { doing: Doing::Idle }).await;
    }

    fn text_of(&self, turn: &Turn) -> String {
        let mut bytes = Vec::new();
        let mut at = turn.from;
        let mut lost = 0;
        loop {
            let part = self.io.screen.since(at);
            lost += part.lost;
            at = part.end;
            if part.bytes.is_empty() {
                break;
            }
            bytes.extend(part.bytes);
        }
        let text = plain(&bytes);
        let text = without_echo(&text, &turn.typed, self.io.spec.prompt_ends.as_deref());
        last_part(text, lost > 0)
    }

    /// Types the next prompt, or says once why not.
    async fn deliver(&mut self) {
        if self.typing.is_some() || self.waiting.is_empty() {
            return;
        }
        let quiet = self.last_print.elapsed() >= QUIET;
        let typing_at_desk =
            self.io.desk.last_key().is_some_and(|at| {
                (Clock::system().now() - at).to_std().is_ok_and(|ago| ago < DESK)
            });
        let why = match self.state {
            // A half-written line would be sent together with what is typed after it.
            _ if typing_at_desk || self.io.desk.has_draft() => Held::DeskTyping,
            // It would be the answer to whatever that program asks.
            State::Idle | State::Working(_) if self.runs_another() => Held::Busy,
            // So would it to a builtin that reads, or to a line that goes on.
            State::Idle if self.has_left_its_prompt() => Held::Busy,
            // What printed nothing for a while may be asking something.
            State::Starting if !quiet => Held::Starting,
            State::Working(_) if !quiet => Held::Busy,
            State::Starting | State::Idle | State::Working(_) => return self.type_next(),
        };
        let mut news = Vec::new();
        for one in &mut self.waiting {
            if one.told.replace(why) != Some(why) {
                news.push(AgentEvent::PromptHeld { prompt: one.prompt, why });
            }
        }
        for event in news {
            self.report(event).await;
        }
    }

    fn type_next(&mut self) {
        let Some(Waiting { prompt, text, told: _ }) = self.waiting.pop_front() else { return };
        let mut bytes = Vec::with_capacity(text.len() + 16);
        if self.io.screen.takes_paste() {
            bytes.extend(b"\x1b[200~");
            bytes.extend(text.bytes());
            bytes.extend(b"\x1b[201~");
        } else {
            bytes.extend(text.bytes().map(|byte| if byte == b'\n' { b'\r' } else { byte }));
        }
        bytes.push(b'\r');
        let keys = self.io.keys.clone();
        let from = *self.printed.borrow();
        let write = Box::pin(async move { keys.write(bytes).await });
        self.typing = Some(Typing { prompt, text, from, write });
    }

    async fn typed(&mut self, written: io::Result<()>) {
        let Some(Typing { prompt, text, from, .. }) = self.typing.take() else { return };
        self.last_print = Instant::now(); // the program has the time to answer
        if written.is_err() {
            let why = RefusedPrompt::Gone;
            return self.report(AgentEvent::PromptRefused { prompt, why }).await;
        }
        self.report(AgentEvent::PromptTaken { prompt, turn: None }).await;
        match &self.state {
            // It went into a turn that is running; its end is the end of both.
            State::Working(_) => {}
            State::Starting | State::Idle => {
                self.state = State::Working(Turn { from, typed: text, interrupted: false });
                self.report(AgentEvent::Now { doing: Doing::Working }).await;
            }
        }
    }

    async fn leave(mut self) {
        let drained = async { while self.printed.changed().await.is_ok() {} };
        let _ = timeout(DRAIN, drained).await; // somebody else may still have the terminal
        if let State::Working(turn) = std::mem::replace(&mut self.state, State::Idle) {
            let text = self.text_of(&turn);
            self.report(AgentEvent::Finished { turn: None, text, provisional: false }).await;
        }
        self.io.orders.close();
        while let Some(order) = self.io.orders.recv().await {
            self.take(order).await;
        }
        let typing = self.typing.take().map(|typing| typing.prompt);
        for prompt in typing.into_iter().chain(self.waiting.iter().map(|one| one.prompt)) {
            let why = RefusedPrompt::Gone;
            self.io.reports.report(AgentEvent::PromptRefused { prompt, why }).await;
        }
    }
}

async fn typed(typing: &mut Option<Typing>) -> io::Result<()> {
    match typing {
        Some(typing) => (&mut typing.write).await,
        None => std::future::pending().await,
    }
}

fn ends_in_prompt(screen: &Screen, ends: &str) -> bool {
    screen.lines().last().is_some_and(|line| line.ends_with(ends.trim_end()))
}

/// The process group that gets what is typed: `tpgid` in `proc_pid_stat(5)`.
fn foreground(leader: u32) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{leader}/stat")).ok()?;
    let group = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(5)?;
    group.parse().ok().filter(|group| *group > 0).map(Pid::from_raw)
}

/// Without control characters, with `\n` between lines, and no empty lines around.
fn cleaned(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    text.trim_matches('\n').to_owned()
}

/// What a person would have read: no escape sequences, and of a line that was written over and
/// over (progress) the last state.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut returned = false;
    while let Some(c) = chars.next() {
        if c == '\r' {
            returned = true;
            continue;
        }
        let line = lines.last_mut().expect("there is always a line");
        if std::mem::take(&mut returned) && c != '\n' && c != '\x1b' {
            line.clear();
        }
        match c {
            '\n' => lines.push(String::new()),
            '\x08' => drop(line.pop()),
            '\x1b' => skip_sequence(&mut chars),
            '\t' => line.push(c),
            c if c.is_control() => {}
            c => line.push(c),
        }
    }
    let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            chars.by_ref().find(|c| ('\x40'..='\x7e').contains(c));
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = chars.next() {
                if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some(' '..='/') => drop(chars.next()),
        Some(_) | None => {}
    }
}

/// Without the prompt's echo at the top and the program's next prompt at the bottom.
fn without_echo<'a>(text: &'a str, typed: &str, ends: Option<&str>) -> &'a str {
    let first_typed = typed.lines().next().unwrap_or_default();
    let mut text = text;
    if let Some((first, rest)) = text.split_once('\n')
        && first.trim_end().ends_with(first_typed.trim_end())
    {
        text = rest;
    } else if text.trim_end() == first_typed.trim_end() {
        text = "";
    }
    if let Some(ends) = ends.map(str::trim_end) {
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        if last.trim_end().ends_with(ends) {
            text = before;
        }
    }
    text.trim_matches('\n')
}

/// The last [`TEXT`] bytes, marked when it is not all.
fn last_part(text: &str, lost: bool) -> String {
    let mut at = text.len().saturating_sub(TEXT);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    match (at, lost) {
        (0, false) => text.to_owned(),
        (_, _) => format!("[the beginning is left out]\n{}", &text[at..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_would_have_read() {
        for (printed, read) in [
            ("a\r\nb\r\n", "a\nb"),
            ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07text", "red text"),
            ("10%\r20%\r100%\r\ndone", "100%\ndone"),
            ("ab\x08c", "ac"),
            ("\x1b(Bplain\x1b[?2004h", "plain"),
            ("\x1bP1;2q..\x1b\\after", "after"),
            ("cut \x1b[3", "cut"),
        ] {
            assert_eq!(plain(printed.as_bytes()), read, "{printed:?}");
        }
    }

    #[test]
    fn echo_and_prompt_are_no_answer() {
        assert_eq!(without_echo("$ ls\na\nb\n$", "ls", Some("$ ")), "a\nb");
        assert_eq!(without_echo("ls\na", "ls", None), "a");
        assert_eq!(without_echo("true\n$", "true", Some("$ ")), "");
        assert_eq!(without_echo("other\na", "ls", None), "other\na");
    }

    #[test]
    fn a_long_answer_keeps_its_end_and_says_so() {
        let text = format!("{}é", "x".repeat(TEXT - 1));
        let last = last_part(&text, false);
        assert!(last.starts_with("[the beginning is left out]\nx"));
        assert!(last.ends_with("xé"));
        assert_eq!(last_part("short", false), "short");
    }

    #[test]
    fn control_characters_stay_out_of_the_terminal() {
        assert_eq!(cleaned("a\x1b[201~b\r\nc\x03\n\n"), "a[201~b\nc");
        assert_eq!(cleaned("\x07\n"), "");
    }
}
