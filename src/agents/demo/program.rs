//! The demo agent's main loop: keys in, screen out, one turn at a time.

use rand::random;
use serde_json::json;
use std::{
    cell::Cell,
    collections::VecDeque,
    future::Future,
    io::{self, Read},
    path::PathBuf,
    pin::Pin,
    process::ExitCode,
    rc::Rc,
    time::{Duration, Instant},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::sleep,
};

use super::{
    INTERRUPTED_EVENT,
    keys::{Key, Keyboard},
    memory::{Memory, Said},
    stage::{Dialog, Hooks, Show, Stage},
    tasks::{self, GREETING, Outcome},
    terminal::{Below, Terminal},
};
use crate::agents::hook_call::Holder;

/// Chunks of keys nobody looked at; reading waits when they are full.
const KEYS: usize = 64;
/// Lines nobody drew; a turn waits when they are full.
const SHOWS: usize = 256;
/// An Esc that nothing follows is the key.
const ESCAPE: Duration = Duration::from_millis(30);
/// A second Ctrl-C on an empty box within this ends the program, as with Claude Code.
const TWICE: Duration = Duration::from_secs(2);
/// Prompts typed at the desk while it works.
const QUEUE: usize = 32;
/// Between two steps of a task; `VIGIE_DEMO_PACE` (milliseconds) in its environment changes it.
const PACE: Duration = Duration::from_millis(500);

#[derive(clap::Args, Clone, Debug)]
pub struct DemoArgs {
    /// Begin a conversation with this id.
    #[arg(long, required_unless_present = "resume", conflicts_with = "resume")]
    pub session_id: Option<String>,
    /// Go on with this one.
    #[arg(long)]
    pub resume: Option<String>,
    /// Where conversations are kept.
    #[arg(long)]
    pub memory: PathBuf,
}

/// Runs the demo agent in this terminal. Needs a current-thread runtime, or any other.
pub async fn main(args: DemoArgs) -> ExitCode {
    let (id, source) = match (args.session_id, args.resume) {
        (_, Some(id)) => (id, "resume"),
        (Some(id), None) => (id, "startup"),
        (None, None) => return ExitCode::from(2), // clap asks for one of them
    };
    let memory = match source {
        "resume" => Memory::go_on(&args.memory, &id),
        _ => Memory::begin(&args.memory, &id),
    };
    let memory = match memory {
        Ok(memory) => memory,
        Err(error) => {
            let why = match error.kind() {
                io::ErrorKind::NotFound => format!("No conversation found with session ID: {id}"),
                io::ErrorKind::AlreadyExists => format!("Session ID {id} is already in use"),
                _ => format!("The conversation {id} cannot be read: {error}"),
            };
            return say_and_leave(&why);
        }
    };
    match Program::open(memory, id) {
        Ok(program) => program.run(source).await,
        Err(error) => say_and_leave(&format!("The terminal cannot be used: {error}")),
    }
}

#[expect(clippy::print_stderr, reason = "this is a program, and its terminal is not set up")]
fn say_and_leave(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

type Turn = Pin<Box<dyn Future<Output = (String, Outcome)>>>;

struct Program {
    terminal: Terminal,
    hooks: Hooks,
    memory: Memory,
    trusted: Rc<Cell<bool>>,
    pace: Duration,
    keyboard: Keyboard,
    input: String,
    stash: Option<String>,
    hint: &'static str,
    last_ctrl_c: Option<Instant>,
    dialog: Option<Dialog>,
    waiting: VecDeque<String>,
    /// The running turn and its prompt; `answered` once it said something.
    turn: Option<(Turn, String)>,
    answered: bool,
    lines: Vec<String>,
    show: mpsc::Sender<Show>,
    shows: mpsc::Receiver<Show>,
}

impl Program {
    fn open(memory: Memory, conversation: String) -> io::Result<Self> {
        let pace = std::env::var("VIGIE_DEMO_PACE").ok().and_then(|ms| ms.parse().ok());
        let (show, shows) = mpsc::channel(SHOWS);
        let hooks = Hooks {
            holder: Holder::from_env().ok(),
            conversation,
            transcript: memory.path().to_owned(),
            cwd: std::env::current_dir()?,
            turn: None,
        };
        Ok(Self {
            terminal: Terminal::open()?,
            hooks,
            memory,
            trusted: Rc::default(),
            pace: pace.map_or(PACE, Duration::from_millis),
            keyboard: Keyboard::default(),
            input: String::new(),
            stash: None,
            hint: "",
            last_ctrl_c: None,
            dialog: None,
            waiting: VecDeque::new(),
            turn: None,
            answered: false,
            lines: vec![],
            show,
            shows,
        })
    }

    async fn run(mut self, source: &str) -> ExitCode {
        let (Ok(mut keys), Ok(mut term), Ok(mut resized)) =
            (read_keys(), signal(SignalKind::terminate()), signal(SignalKind::window_change()))
        else {
            return ExitCode::FAILURE;
        };
        self.greet();
        self.draw();
        self.hooks.tell("SessionStart", json!({ "source": source })).await;
        let code = loop {
            self.begin_next();
            self.draw();
            tokio::select! {
                bytes = keys.recv() => {
                    let Some(bytes) = bytes else { break ExitCode::SUCCESS };
                    let typed = self.keyboard.take(&bytes);
                    if self.press_all(typed).await {
                        break ExitCode::SUCCESS;
                    }
                }
                () = sleep(ESCAPE), if self.keyboard.holds_escape() => {
                    let escape = self.keyboard.escape();
                    self.press_all(escape).await;
                }
                Some(show) = self.shows.recv() => self.show(show),
                ended = ended(&mut self.turn) => {
                    if let Some(code) = self.end_turn(ended).await {
                        break code;
                    }
                }
                _ = resized.recv() => {}
                _ = term.recv() => break ExitCode::from(143),
            }
        };
        self.turn = None;
        self.hooks.tell("SessionEnd", json!({ "reason": "other" })).await;
        code
    }

    fn greet(&mut self) {
        self.lines.extend(GREETING.lines().map(str::to_owned));
        for said in self.memory.said() {
            self.lines.push(format!("❯ {}", said.prompt));
            self.lines.extend(said.answer.lines().map(|line| format!("  {line}")));
        }
    }

    fn draw(&mut self) {
        // What was shown before the turn ended stands above its answer.
        while let Ok(show) = self.shows.try_recv() {
            self.show(show);
        }
        let below = match &self.dialog {
            Some(dialog) => Below::Dialog { title: &dialog.title, choices: &dialog.choices },
            None => Below::Box { input: &self.input, hint: self.hint },
        };
        // A terminal that is gone ends the program by its keys.
        let _ = self.terminal.draw(&std::mem::take(&mut self.lines), &below);
    }

    fn show(&mut self, show: Show) {
        match show {
            Show::Line(line) => {
                self.answered = true;
                self.lines.push(line);
            }
            Show::Dialog(dialog) => self.dialog = Some(dialog),
            Show::Close => self.dialog = None,
        }
    }

    /// `true` when the program is to end.
    async fn press_all(&mut self, keys: impl IntoIterator<Item = Key>) -> bool {
        for key in keys {
            let leave = if self.dialog.is_some() {
                self.press_in_dialog(&key).await;
                false
            } else {
                self.press(key).await
            };
            if leave {
                return true;
            }
            self.begin_next();
        }
        false
    }

    async fn press_in_dialog(&mut self, key: &Key) {
        let choices = self.dialog.as_ref().map_or(0, |dialog| dialog.choices.len());
        let choice = match key {
            // As in Claude Code, Enter takes the first: that is why nothing may be typed here.
            Key::Enter => Some(0),
            Key::Text(digit) => digit.parse::<usize>().ok().and_then(|digit| digit.checked_sub(1)),
            Key::Escape => {
                self.interrupt().await;
                return;
            }
            Key::Paste(_) | Key::Backspace | Key::Ctrl(_) => None,
        };
        if let (Some(choice), Some(dialog)) = (
            choice.filter(|choice| *choice < choices),
            self.dialog.take_if(|_| choice.is_some_and(|choice| choice < choices)),
        ) {
            // The turn waits for it.
            let _ = dialog.answer.send(choice);
        }
    }

    async fn press(&mut self, key: Key) -> bool {
        self.hint = "";
        match key {
            Key::Text(text) | Key::Paste(text) => self.input.push_str(&text),
            Key::Backspace => drop(self.input.pop()),
            Key::Escape => {
                if self.turn.is_some() {
                    self.interrupt().await;
                }
            }
            Key::Ctrl('c') => {
                if self.input.is_empty()
                    && self.last_ctrl_c.is_some_and(|last| last.elapsed() < TWICE)
                {
                    return true;
                }
                self.input.clear();
                self.last_ctrl_c = Some(Instant::now());
                self.hint = "Press Ctrl-C again to exit";
            }
            Key::Ctrl('s') => {
                let old = self.stash.take();
                if self.input.is_empty() {
                    self.input = old.unwrap_or_default();
                } else {
                    self.stash = Some(std::mem::take(&mut self.input));
                }
            }
            Key::Ctrl('u') => self.input.clear(),
            Key::Ctrl(_) => {}
            Key::Enter => return self.enter(),
        }
        false
    }

    fn enter(&mut self) -> bool {
        let prompt = std::mem::take(&mut self.input).trim().to_owned();
        self.input = self.stash.take().unwrap_or_default();
        if prompt == "/exit" {
            return true;
        }
        if prompt.starts_with('/') && !prompt.contains(['\n', ' ']) {
            self.lines.push(format!("● Unknown command: {prompt}"));
        } else if !prompt.is_empty() && self.waiting.len() < QUEUE {
            self.waiting.push_back(prompt);
        }
        false
    }

    fn begin_next(&mut self) {
        if self.turn.is_some() {
            return;
        }
        let Some(prompt) = self.waiting.pop_front() else { return };
        self.lines.extend(prompt.lines().map(|line| format!("❯ {line}")));
        self.answered = false;
        self.hooks.turn = Some(format!("turn-{:016x}", random::<u64>()));
        let mut stage =
            Stage::new(self.show.clone(), self.hooks.clone(), self.trusted.clone(), self.pace);
        let (task, before) = (prompt.clone(), self.memory.said().to_vec());
        let turn = Box::pin(async move {
            stage.hooks.tell("UserPromptSubmit", json!({ "prompt": task })).await;
            let outcome = tasks::carry_out(&mut stage, &task, &before).await;
            (task, outcome)
        });
        self.turn = Some((turn, prompt));
    }

    /// Takes what a turn left; gives an exit code when it was the last.
    async fn end_turn(&mut self, (prompt, outcome): (String, Outcome)) -> Option<ExitCode> {
        self.turn = None;
        self.draw();
        match outcome {
            Outcome::Finished(answer) => {
                self.lines.extend(answer.lines().map(|line| format!("  {line}")));
                let said = Said { prompt, answer: answer.clone() };
                if let Err(error) = self.memory.add(said) {
                    self.lines.push(format!("● I will not remember this: {error}"));
                }
                self.draw();
                let fields = json!({ "last_assistant_message": answer, "background_tasks": [] });
                self.hooks.tell("Stop", fields).await;
            }
            Outcome::Failed(why) => {
                self.lines.push(format!("● {why}"));
                self.draw();
                let fields = json!({ "error": "unknown", "last_assistant_message": why });
                self.hooks.tell("StopFailure", fields).await;
            }
            Outcome::Interrupted => self.say_interrupted().await,
            Outcome::Crashed => return Some(ExitCode::from(3)),
        }
        None
    }

    /// Ends the turn where it is. What was not answered at all comes back into the box.
    async fn interrupt(&mut self) {
        self.draw();
        self.dialog = None;
        if let Some((_, prompt)) = self.turn.take()
            && !self.answered
        {
            self.input = prompt;
        }
        self.say_interrupted().await;
    }

    async fn say_interrupted(&mut self) {
        self.lines.push("  Interrupted · What should the demo do instead?".into());
        self.draw();
        self.hooks.tell(INTERRUPTED_EVENT, json!({})).await;
    }
}

/// The running turn's end; for ever when there is none.
async fn ended(turn: &mut Option<(Turn, String)>) -> (String, Outcome) {
    match turn {
        Some((turn, _)) => turn.await,
        None => std::future::pending().await,
    }
}

/// Reading a terminal blocks, so it has a thread of its own; it ends with the terminal or with us.
fn read_keys() -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (typed, keys) = mpsc::channel(KEYS);
    std::thread::Builder::new().name("keys".into()).spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut bytes = [0; 16 * 1024];
        while let Ok(read @ 1..) = stdin.read(&mut bytes) {
            if typed.blocking_send(bytes[..read].to_vec()).is_err() {
                return;
            }
        }
    })?;
    Ok(keys)
}
