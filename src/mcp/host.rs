//! How the machine does right now: no agent starts another on one that is short of breath.

use std::thread::available_parallelism;
use vigie_core::caller::Host;

/// What cannot be told bounds nothing.
pub(super) fn now() -> Host {
    Host {
        load_permille: load().map_or(0, |load| per_core(load, cores())),
        free_mib: free_mib().unwrap_or(u64::MAX),
    }
}

fn cores() -> usize {
    available_parallelism().map_or(1, Into::into)
}

/// A load average as thousandths of what the cores can do.
fn per_core(load: f64, cores: usize) -> u32 {
    let cores = u32::try_from(cores).unwrap_or(u32::MAX).max(1);
    let permille = (load * 1000.0 / f64::from(cores)).clamp(0.0, f64::from(u32::MAX));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between 0 and the most"
    )]
    let permille = permille as u32;
    permille
}

/// The load average of the last minute.
#[cfg(target_os = "linux")]
fn load() -> Option<f64> {
    first_number(&std::fs::read_to_string("/proc/loadavg").ok()?)
}

/// Memory that can be had without swapping.
#[cfg(target_os = "linux")]
fn free_mib() -> Option<u64> {
    available_mib(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

#[cfg(not(target_os = "linux"))]
fn load() -> Option<f64> {
    let asked = std::process::Command::new("sysctl").args(["-n", "vm.loadavg"]).output().ok()?;
    // "{ 1.52 1.60 1.71 }"
    first_number(String::from_utf8_lossy(&asked.stdout).trim_start_matches(['{', ' ']))
}

/// Elsewhere there is no such number that is cheap to ask for.
#[cfg(not(target_os = "linux"))]
fn free_mib() -> Option<u64> {
    None
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Source of the form: `proc_meminfo(5)`, in kB.
#[cfg(any(target_os = "linux", test))]
fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_and_memory_are_read_as_the_system_writes_them() {
        assert_eq!(first_number("4.25 3.10 2.00 3/512 4242\n"), Some(4.25));
        assert_eq!(per_core(4.25, 2), 2125);
        assert_eq!(per_core(f64::NAN, 2), 0);
        let text = "MemTotal:       32768000 kB\nMemFree: 1 kB\nMemAvailable:    2097152 kB\n";
        assert_eq!(available_mib(text), Some(2048));
        assert_eq!(available_mib("nothing of the kind"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_tells() {
        assert!(now().free_mib > 0 && now().free_mib < u64::MAX);
    }
}
