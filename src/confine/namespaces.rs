//! User and mount namespaces: a view of files of one's own.

use nix::{
    sched::{CloneFlags, setns, unshare},
    unistd::{getegid, geteuid},
};
use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, ExitCode, Stdio},
};

use super::wrapper::OURSELVES;

/// What a mapper says when the ids are mapped; anything else is why they are not.
const MAPPED: &str = "mapped";

/// The way into new namespaces, one inside the other.
pub(super) struct Way {
    /// Where we are root. Only from outside can all ids be mapped, so one of us stays behind: to start
    /// it takes longer than all the rest.
    mapper: Option<(Child, BufReader<ChildStdout>)>,
}

impl Way {
    pub(super) fn open() -> io::Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self { mapper: None });
        }
        let mut mapper = Command::new(OURSELVES)
            .args(["confine", "map", &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let said = mapper.stdout.take().ok_or_else(|| io::Error::other("the mapper is mute"))?;
        Ok(Self { mapper: Some((mapper, BufReader::new(said))) })
    }

    /// Moves this process into new ones, with the ids it has. It must have no other thread.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let (uid, gid) = (geteuid(), getegid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
        let Some((mapper, said)) = &mut self.mapper else {
            // Who maps their own id alone must give up changing groups first.
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            return fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"));
        };
        if let Some(go) = &mut mapper.stdin {
            go.write_all(b"\n")?;
        }
        let mut answer = String::new();
        said.read_line(&mut answer)?;
        if answer.trim_end() == MAPPED { Ok(()) } else { Err(io::Error::other(answer.trim_end())) }
    }

    /// Whoever stayed behind has nothing more to do.
    pub(super) fn close(self) -> io::Result<()> {
        let Some((mut mapper, said)) = self.mapper else { return Ok(()) };
        drop((mapper.stdin.take(), said));
        mapper.wait().map(drop)
    }
}

/// Maps every id that we have to itself for process `pid`, each time it has just left for another
/// namespace, and follows it there: whoever maps has to be right outside.
pub(super) fn map(pid: u32) -> ExitCode {
    let process = Path::new("/proc").join(pid.to_string());
    let map = |file: &str| {
        let ours = fs::read_to_string(Path::new("/proc/self").join(file))?;
        fs::write(process.join(file), identity(&ours))
    };
    let mut go = [0];
    while io::stdin().read_exact(&mut go).is_ok() {
        let mapped = ["uid_map", "gid_map"].into_iter().try_for_each(map);
        let answer = match &mapped {
            Ok(()) => MAPPED.to_owned(),
            Err(error) => format!("the ids cannot be mapped: {error}"),
        };
        // Before it is answered: the process may leave for the next one right then.
        let inside = File::open(process.join("ns/user"));
        if writeln!(io::stdout(), "{answer}").is_err() || mapped.is_err() {
            return ExitCode::FAILURE;
        }
        let followed = inside.and_then(|inside| Ok(setns(inside, CloneFlags::CLONE_NEWUSER)?));
        if followed.is_err() {
            return ExitCode::FAILURE; // the next map is then said to be missing
        }
    }
    ExitCode::SUCCESS
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
