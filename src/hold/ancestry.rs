//! Who is calling: an agent may not steer sessions, not even from its own shell.

use std::path::Path;
use tokio::net::UnixStream;

use super::tree::{self, Process};

/// Lets in this user's own processes, and none that a holder holds: for every socket on which
/// sessions can be steered.
///
/// # Errors
/// Why not, as a sentence for whoever calls.
pub fn admit(stream: &UnixStream) -> Result<(), String> {
    let peer = stream.peer_cred().map_err(|error| format!("it is unclear who calls: {error}"))?;
    if peer.uid() != nix::unistd::geteuid().as_raw() {
        return Err("this belongs to another user".into());
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let caller = pid.ok_or("it is unclear which process calls")?;
    // Without a living caller its parents cannot be seen, and it could be anybody's.
    tree::process(caller).ok_or("the calling process is gone")?;
    match inside_a_session(caller) {
        None => Ok(()),
        Some(holder) => Err(format!(
            "process {caller} runs inside a session (holder {holder}), and sessions may not \
             steer sessions: do it from a terminal of your own"
        )),
    }
}

/// Longest chain of parents that is followed.
const GENERATIONS: usize = 1024;

/// The holder whose session `pid` belongs to, if any. A holder that we ourselves live under does
/// not count: it holds the caller and us alike (somebody works on Vigie inside Vigie), and what it
/// guards against is an agent reaching out of its session, not into what it started itself.
///
/// A process that is gone has no ancestors to see and is in no session here: see [`admit`].
pub fn inside_a_session(pid: u32) -> Option<u32> {
    let above_us = holders_above(std::process::id());
    holders_above(pid)
        .into_iter()
        .find(|holder| *holder == std::process::id() || !above_us.contains(holder))
}

/// `pid` may be an agent's: it runs inside a session, or it is gone, so that nobody can tell.
pub fn may_be_an_agents(pid: u32) -> bool {
    tree::process(pid).is_none() || inside_a_session(pid).is_some()
}

/// All holders among `pid` and its ancestors, nearest first.
pub fn holders_above(pid: u32) -> Vec<u32> {
    ancestors(pid, tree::process).into_iter().filter(|pid| is_holder(*pid)).collect()
}

fn ancestors(pid: u32, look: impl Fn(u32) -> Option<Process>) -> Vec<u32> {
    let mut chain = vec![pid];
    while let Some(process) = chain.last().and_then(|pid| look(*pid)) {
        if process.parent == 0 || chain.len() == GENERATIONS {
            break;
        }
        chain.push(process.parent);
    }
    chain
}

/// A holder is `vigie hold <folder>`, nothing before and nothing after; its own process sees to it.
fn is_holder(pid: u32) -> bool {
    let text = command_line(pid);
    let mut words = text.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default();
    Path::new(&*program).file_name().is_some_and(|name| name == "vigie")
        && words.next().is_some_and(|word| word == "hold")
}

#[cfg(target_os = "linux")]
fn command_line(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn command_line(pid: u32) -> Vec<u8> {
    let pid = pid.to_string();
    let asked = std::process::Command::new("ps").args(["-o", "args=", "-p", &pid]).output();
    let text = asked.map(|output| output.stdout).unwrap_or_default();
    text.split(u8::is_ascii_whitespace).collect::<Vec<_>>().join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_ends_at_the_first_process_even_in_a_loop() {
        let parent = |pid| Process { pid, parent: pid / 2, dead: false };
        assert_eq!(ancestors(9, |pid| Some(parent(pid))), [9, 4, 2, 1]);
        let looping = |pid| Some(Process { pid, parent: pid ^ 1, dead: false });
        assert_eq!(ancestors(6, looping).len(), GENERATIONS);
    }

    #[test]
    fn a_test_is_in_no_session_of_its_own() {
        assert_eq!(inside_a_session(std::process::id()), None);
    }
}
