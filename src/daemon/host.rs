//! The machine that this runs on, as the page of the system shows it: what the kernel says of itself at
//! that moment. What it does not say is left out.

use std::{fs, path::Path, sync::Arc, thread};
use vigie_dashboard::system::{Host, Room};

/// In `/proc/meminfo` a kB is 1,024 bytes. Source: `proc_meminfo(5)`.
const KB: u64 = 1024;

/// What describes it; `data` is the folder on whose disk there has to be room.
pub(super) fn reader(data: &Path) -> Arc<dyn Fn() -> Host + Send + Sync> {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let name = name.unwrap_or_else(|| "this machine".into());
    let (system, cores) = (system(), thread::available_parallelism().ok().map(usize::from));
    let data = data.to_owned();
    Arc::new(move || Host {
        name: name.clone(),
        system: system.clone(),
        cores,
        load: text("/proc/loadavg").as_deref().and_then(load),
        memory: text("/proc/meminfo").as_deref().and_then(memory),
        daemon: text("/proc/self/status").as_deref().and_then(|status| kb(status, "VmRSS:")),
        disk: disk(&data),
        up: text("/proc/uptime").as_deref().and_then(uptime),
    })
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// "Debian GNU/Linux 13 (trixie), Linux 6.12.9".
fn system() -> String {
    let kernel = text("/proc/sys/kernel/osrelease");
    let kernel = kernel.map(|release| format!("Linux {}", release.trim()));
    let named = text("/etc/os-release").as_deref().and_then(pretty_name);
    let parts: Vec<_> = [named, kernel].into_iter().flatten().collect();
    if parts.is_empty() { std::env::consts::OS.to_owned() } else { parts.join(", ") }
}

/// Source: os-release(5).
fn pretty_name(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// How many wanted to run in the last minute. Source: `proc_loadavg(5)`.
fn load(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Whole seconds. Source: `proc_uptime(5)`.
fn uptime(text: &str) -> Option<u64> {
    text.split(['.', ' ']).next()?.parse().ok()
}

fn memory(text: &str) -> Option<Room> {
    Some(Room { free: kb(text, "MemAvailable:")?, all: kb(text, "MemTotal:")? })
}

/// The bytes that stand behind a word as kB.
fn kb(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(KB)
}

fn disk(data: &Path) -> Option<Room> {
    // As df(1) counts: what only root may take is nobody's.
    let free = fs4::available_space(data).ok()?;
    let taken = fs4::total_space(data).ok()?.saturating_sub(fs4::free_space(data).ok()?);
    Some(Room { free, all: taken.saturating_add(free) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        assert_eq!(load("1.25 0.80 0.41 2/431 12345\n"), Some(1.25));
        assert_eq!(uptime("98765.43 12345.67\n"), Some(98_765));
        let meminfo = "MemTotal:       16303428 kB\nMemFree: 1 kB\nMemAvailable:   9000000 kB\n";
        let room = Room { free: 9_000_000 * KB, all: 16_303_428 * KB };
        assert_eq!(memory(meminfo), Some(room));
        assert_eq!(memory("MemTotal: 1 kB\n"), None, "half of it says nothing");
        let release = "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(pretty_name(release).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
    }
}
