//! User and mount namespaces: a view of files of one's own.

use nix::{
    sched::{CloneFlags, unshare},
    unistd::{getegid, geteuid},
};
use std::{
    fs, io,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use super::wrapper::OURSELVES;

/// Moves this process into new ones, with the ids it has. It must have no other thread.
pub(super) fn enter() -> io::Result<()> {
    let namespaces = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS;
    if !geteuid().is_root() {
        let (uid, gid) = (geteuid(), getegid());
        unshare(namespaces)?;
        // Who maps their own id alone must give up changing groups first.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        return fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"));
    }
    // Only from outside can all ids be mapped.
    let mut mapper = Command::new(OURSELVES)
        .args(["confine", "map", &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    unshare(namespaces)?;
    if let Some(mut go) = mapper.stdin.take() {
        go.write_all(b"\n")?;
    }
    let done = mapper.wait_with_output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
}

/// Maps every id that we have to itself for process `pid`, which has just left our namespace.
#[expect(clippy::print_stderr, reason = "the one that waits reads it")]
pub(super) fn map(pid: u32) -> ExitCode {
    let mut go = [0];
    let written = io::stdin().read_exact(&mut go).and_then(|()| {
        let process = Path::new("/proc").join(pid.to_string());
        ["uid_map", "gid_map"].iter().try_for_each(|file| {
            let ours = fs::read_to_string(Path::new("/proc/self").join(file))?;
            fs::write(process.join(file), identity(&ours))
        })
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the ids cannot be mapped: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Each range of ids of a map, mapped to itself.
fn identity(map: &str) -> String {
    let ranges = map.lines().filter_map(|line| {
        let mut columns = line.split_whitespace();
        let (first, count) = (columns.next()?, columns.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn ids_stay_what_they_are() {
        let map = "         0     100000      65536\n     70000     900000          1\n";
        assert_eq!(identity(map), "0 0 65536\n70000 70000 1\n");
    }
}
