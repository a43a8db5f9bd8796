//! The single protections: what each gives, and what to do where one is missing.

use serde::{Deserialize, Serialize};
use std::fs;

/// One thing that is closed to what runs in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Vigie's own folders and files are not there.
    Files,
    /// Other processes' memory, environment, files and folders cannot be looked into.
    Processes,
    /// Other processes cannot be signalled.
    Signals,
    /// No keys can be pressed into a terminal, no limits be set for other processes.
    Terminal,
    /// Vigie's sockets tell who calls, orphans and loopback included.
    Callers,
}

impl Protection {
    /// Those that a session enters; the others are Vigie's own.
    pub const OF_A_SESSION: [Self; 4] =
        [Self::Files, Self::Processes, Self::Signals, Self::Terminal];
    pub const ALL: [Self; 5] =
        [Self::Files, Self::Processes, Self::Signals, Self::Terminal, Self::Callers];

    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Processes => "processes",
            Self::Signals => "signals",
            Self::Terminal => "terminal",
            Self::Callers => "callers",
        }
    }

    /// What it means that it holds.
    pub fn words(self) -> &'static str {
        match self {
            Self::Files => "Vigie's own files are out of an agent's sight",
            Self::Processes => "an agent cannot look into processes outside of its session",
            Self::Signals => "an agent cannot signal processes outside of its session",
            Self::Terminal => "an agent cannot press keys in its own terminal",
            Self::Callers => "Vigie tells an agent that calls from a person",
        }
    }

    /// What to do where it is missing.
    pub fn todo(self) -> &'static str {
        const ELSE: &str = "Run Vigie as a user of its own, or in a container: docs/confinement.md";
        let setting = |file: &str| fs::read_to_string(file).unwrap_or_default().trim().to_owned();
        match self {
            Self::Files | Self::Processes if cfg!(target_os = "linux") => {
                if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
                    "AppArmor keeps user namespaces from programs it does not know: \
                     docs/confinement.md has a profile for Vigie."
                } else if setting("/proc/sys/user/max_user_namespaces") == "0" {
                    "Allow user namespaces: sysctl user.max_user_namespaces=1000"
                } else if setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
                    "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
                } else {
                    "Let this machine, or the container Vigie runs in, have user namespaces: \
                     docs/confinement.md"
                }
            }
            Self::Signals if cfg!(target_os = "linux") => {
                "It takes Linux 6.12 with Landlock. Else run Vigie as a user of its own: \
                 docs/confinement.md"
            }
            Self::Terminal if cfg!(target_os = "linux") => {
                "Let Vigie set a seccomp filter, or set sysctl dev.tty.legacy_tiocsti=0."
            }
            Self::Files | Self::Processes | Self::Signals | Self::Terminal | Self::Callers => ELSE,
        }
    }
}

/// A protection that is missing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacking {
    pub protection: Protection,
    pub why: String,
}
