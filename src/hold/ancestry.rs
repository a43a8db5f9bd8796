//! Who is calling: an agent may not steer sessions, not even from its own shell.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use tokio::net::UnixStream;

use super::{
    namespace,
    tree::{self, Process},
};

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
    let pid = pid.ok_or("it is unclear which process calls")?;
    match caller(pid) {
        Caller::Outside => Ok(()),
        Caller::Session { folder } => Err(format!(
            "process {pid} runs inside a session ({}), and sessions may not steer sessions: do it \
             from a terminal of your own",
            folder.display()
        )),
        Caller::Unclear => Err(format!(
            "process {pid} is gone, or runs in a user namespace of its own as sessions do: call \
             from a terminal outside of any container"
        )),
    }
}

/// Where a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// In no session.
    Outside,
    /// In a session, whose present run has this folder.
    Session { folder: PathBuf },
    /// Perhaps in one: it is gone, or its user namespace is not ours. A session has one of its own,
    /// which nothing in it can leave, not even by losing its holder.
    Unclear,
}

/// Where `pid` runs.
pub fn caller(pid: u32) -> Caller {
    let Some(holders) = holders_above(pid) else { return Caller::Unclear };
    // A holder that we ourselves live under does not count: it holds the caller and us alike
    // (somebody works on Vigie inside Vigie), and what it guards against is an agent reaching out of
    // its session, not into what it started itself.
    let us = std::process::id();
    let above_us = holders_above(us).unwrap_or_default();
    let above_us = |pid| pid != us && above_us.iter().any(|holder| holder.pid == pid);
    // The outermost is the real one: a program can give its own children's parent a holder's name.
    match holders.into_iter().rfind(|holder| !above_us(holder.pid)) {
        Some(holder) => Caller::Session { folder: holder.folder },
        None if namespace::shared_with(pid) => Caller::Outside,
        None => Caller::Unclear,
    }
}

/// Whether this very process lives under a holder.
pub fn inside_a_session() -> bool {
    holders_above(std::process::id()).is_none_or(|holders| !holders.is_empty())
}

struct Holder {
    pid: u32,
    folder: PathBuf,
}

/// All holders among `pid` and its ancestors, nearest first; `None` when it is gone, or its
/// ancestors die faster than they can be looked at.
fn holders_above(pid: u32) -> Option<Vec<Holder>> {
    let chain = (0..LOOKS).find_map(|_| ancestors(pid, tree::process))?;
    let held = |pid| Some(Holder { pid, folder: held_by(&command_line(pid))? });
    Some(chain.into_iter().filter_map(held).collect())
}

/// Longest chain of parents that is followed.
const GENERATIONS: usize = 1024;
/// How often a chain is begun again that broke while it was followed.
const LOOKS: usize = 16;

/// `pid`, its parent, and so on; `None` when one of them died meanwhile.
fn ancestors(pid: u32, look: impl Fn(u32) -> Option<Process>) -> Option<Vec<u32>> {
    let mut process = look(pid)?;
    let mut chain = vec![pid];
    while process.parent != 0 && chain.len() < GENERATIONS {
        process = match look(process.parent) {
            Some(parent) => parent,
            // Where the system hides other users' processes, the chain ends at the first of them.
            None if look(process.pid)?.parent == process.parent => break,
            None => return None,
        };
        chain.push(process.pid);
    }
    Some(chain)
}

/// A holder is `vigie hold <folder>`, nothing before and nothing after; its own process sees to it.
/// What carries out a step is one too, and its step as little a person as a session is.
fn held_by(command_line: &[u8]) -> Option<PathBuf> {
    let mut words = command_line.splitn(3, |byte| *byte == 0);
    let program = Path::new(OsStr::from_bytes(words.next()?));
    let holder = program.file_name()? == "vigie" && matches!(words.next()?, b"hold" | b"step");
    let folder = words.next()?.split(|byte| *byte == 0).next()?;
    holder.then(|| OsStr::from_bytes(folder).into())
}

#[cfg(target_os = "linux")]
fn command_line(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn command_line(pid: u32) -> Vec<u8> {
    let pid = pid.to_string();
    let asked = std::process::Command::new("ps").args(["-o", "args=", "-p", &pid]).output();
    let mut text = asked.map(|output| output.stdout).unwrap_or_default();
    text.truncate(text.trim_ascii_end().len());
    // Only the folder, which comes last, may have blanks in it.
    for byte in text.iter_mut().filter(|byte| **byte == b' ').take(2) {
        *byte = 0;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_ends_at_the_first_process_even_in_a_loop() {
        let parent = |pid| Process { pid, parent: pid / 2, dead: false };
        assert_eq!(ancestors(9, |pid| Some(parent(pid))), Some(vec![9, 4, 2, 1]));
        let looping = |pid| Some(Process { pid, parent: pid ^ 1, dead: false });
        assert_eq!(ancestors(6, looping).unwrap().len(), GENERATIONS);
    }

    #[test]
    fn a_chain_that_breaks_is_none_and_one_that_is_hidden_is_short() {
        let hidden = |pid| (pid > 4).then_some(Process { pid, parent: pid / 2, dead: false });
        assert_eq!(ancestors(20, hidden), Some(vec![20, 10, 5]));
        let looks = std::cell::Cell::new(0);
        let adopted = |pid| {
            looks.set(looks.get() + 1);
            let parent = if looks.get() < 3 { pid / 2 } else { 1 };
            (pid > 10).then_some(Process { pid, parent, dead: false })
        };
        assert_eq!(ancestors(20, adopted), None);
        assert_eq!(ancestors(3, hidden), None);
    }

    #[test]
    fn a_test_is_in_no_session_of_its_own() {
        assert_eq!(caller(std::process::id()), Caller::Outside);
    }

    #[test]
    fn a_process_that_is_gone_could_be_anybodys() {
        assert_eq!(caller(u32::MAX >> 1), Caller::Unclear);
    }

    #[test]
    fn a_holder_is_known_by_its_words() {
        let folder = Some(PathBuf::from("/data/ses 1/2"));
        assert_eq!(held_by(b"/opt/vigie\0hold\0/data/ses 1/2\0"), folder);
        assert_eq!(held_by(b"vigie\0step\0/data/ses 1/2\0"), folder);
        for other in [&b"vigie\0up\0"[..], b"vigie\0hold", b"sh\0hold\0/data\0", b""] {
            assert_eq!(held_by(other), None);
        }
    }
}
