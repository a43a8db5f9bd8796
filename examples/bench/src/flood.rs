//! A program that prints 100 MB at once: through a holder, which keeps the last of it, follows its
//! screen and records it; through a terminal that is only read; and through tmux.

use anyhow::{Context, Result};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use vigie::{
    agents::{AgentKind, Conversation, Size, Spec},
    clock::Clock,
    hold::client,
};
use vigie_core::{id::SessionId, policy::Guard, session::Role};

use super::{
    latency::{Agent, Meeting},
    table::{Figure, median},
};

const MEGABYTES: u32 = 100;
/// Each way in turn, so that a machine that is busy for a while is so for all.
const ROUNDS: usize = 3;
const SIZE: Size = Size { columns: 120, rows: 40 };

pub(crate) async fn measure(folder: &Path, ours: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let meeting = Meeting::open().await?;
    let with_tmux =
        tmux().arg("-V").stdout(Stdio::null()).status().is_ok_and(|said| said.success());
    let (mut held, mut bare, mut in_tmux) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bare.push(read_alone(ours, &meeting).await?);
        held.push(through_a_holder(&folder.join(round.to_string()), ours, vigie, &meeting).await?);
        if with_tmux {
            in_tmux.push(through_tmux(folder, ours, &meeting).await?);
        }
    }
    let held = median(&mut held);
    let figure = || Figure::new(format!("{MEGABYTES} MB through a holder"), held, "MB/s");
    let mut figures = vec![figure().against("the terminal read alone", median(&mut bare))];
    if with_tmux {
        figures.push(figure().against("tmux", median(&mut in_tmux)));
    } else {
        figures.push(Figure::new("tmux is not installed, so it is not compared", f64::NAN, ""));
    }
    Ok(figures)
}

fn arguments(meeting: &Meeting) -> Vec<String> {
    vec!["flood".into(), meeting.address.clone(), MEGABYTES.to_string()]
}

/// Starts the program's flood and waits for its end; in MB a second.
async fn flooded(agent: &mut Agent) -> Result<f64> {
    agent.tell("go").await?;
    let nanoseconds = agent.says("printed").await?;
    let mebibytes = f64::from(MEGABYTES) * f64::from(1 << 20);
    #[expect(clippy::cast_precision_loss, reason = "some seconds at most")]
    let rate = mebibytes / 1e6 / (nanoseconds as f64 / 1e9);
    Ok(rate)
}

async fn read_alone(ours: &Path, meeting: &Meeting) -> Result<f64> {
    let size = PtySize { rows: SIZE.rows, cols: SIZE.columns, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size)?;
    let mut command = CommandBuilder::new(ours);
    command.args(arguments(meeting));
    let mut child = pair.slave.spawn_command(command)?;
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader()?;
    let reader = std::thread::spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        while output.read(&mut chunk).is_ok_and(|length| length > 0) {}
    });
    let mut agent = meeting.agent().await?;
    let rate = flooded(&mut agent).await;
    drop(agent);
    child.wait()?;
    reader.join().map_err(|_| anyhow::anyhow!("the reader failed"))?;
    rate
}

async fn through_a_holder(
    folder: &Path,
    ours: &Path,
    vigie: &Path,
    meeting: &Meeting,
) -> Result<f64> {
    let now = Clock::system().now();
    let spec = Spec {
        session: SessionId::from_parts(now, now.timestamp_subsec_nanos().into()),
        name: "PD-285".parse().context("a usual name")?,
        kind: AgentKind::Shell,
        program: ours.into(),
        args: arguments(meeting),
        env: BTreeMap::new(),
        cwd: fs::canonicalize(folder.parent().unwrap_or(folder))?,
        size: SIZE,
        permission_mode: None,
        conversation: Conversation::New { id: String::new() },
        first_seq: 1,
        shared: folder.to_owned(),
        recording_limit: 32 << 20,
        prompt_ends: None,
        mcp_url: None,
        role: Role::Worker,
        confinement: None,
        guard: Guard::default(),
    };
    client::spawn(vigie, folder, &spec).await?;
    let rate = async { flooded(&mut meeting.agent().await?).await }.await;
    client::kill_folder(folder).await?;
    rate
}

async fn through_tmux(folder: &Path, ours: &Path, meeting: &Meeting) -> Result<f64> {
    let server = || {
        let mut command = tmux();
        // A socket's path may have no more than 108 bytes, so only its name is ours.
        command.args(["-f", "/dev/null", "-L"]).arg(name_of(folder));
        command
    };
    let columns = SIZE.columns.to_string();
    let rows = SIZE.rows.to_string();
    let mut start = server();
    start.args(["new-session", "-d", "-x", &columns, "-y", &rows]).arg(ours);
    start.args(arguments(meeting)).status().context("tmux does not start")?;
    let rate = async { flooded(&mut meeting.agent().await?).await }.await;
    let _ = server().arg("kill-server").stderr(Stdio::null()).status(); // it may have ended by itself
    rate
}

fn tmux() -> Command {
    let mut command = Command::new("tmux");
    command.env_remove("TMUX");
    command
}

fn name_of(folder: &Path) -> PathBuf {
    folder.file_name().map(PathBuf::from).unwrap_or_default()
}
