//! How Vigie itself does: its chat services, what was not delivered, what keeps agents out, versions,
//! people, and what the doctor found.

use maud::{Markup, html};
use std::time::Duration;
use vigie_core::{
    Timestamp,
    command::{BridgeView, IdentityView},
    delivery::Undelivered,
};

use crate::{
    frame::{Page, Tab},
    pieces::state,
    words::{age, clock, day_and_clock, many, said},
};

pub struct System<'a> {
    /// "vigie 0.4.1", "SQLite 3.50.4", …
    pub versions: &'a [(String, String)],
    pub up_since: Timestamp,
    /// The newest event's number.
    pub seq: u64,
    pub bridges: &'a [BridgeView],
    /// The oldest first.
    pub undelivered: &'a [Undelivered],
    /// Whether whoever looks may have them tried again.
    pub may_retry: bool,
    /// Waiting to be sent, over all services.
    pub to_send: usize,
    /// What could not be read, a sentence each.
    pub problems: &'a [String],
    pub protections: &'a [Protection],
    pub host: &'a Host,
    pub doing: &'a Doing<'a>,
    /// `None`: whoever looks may not see who is let in.
    pub people: Option<&'a [IdentityView]>,
    pub doctor: &'a Doctor,
    /// Whether whoever looks may have the doctor look again.
    pub may_examine: bool,
    pub now: Timestamp,
}

/// A machine that runs sessions; what it does not say of itself is not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    pub name: String,
    /// "Debian GNU/Linux 13 (trixie), Linux 6.12.9".
    pub system: String,
    pub cores: Option<usize>,
    /// How many wanted to run in the last minute.
    pub load: Option<f64>,
    pub memory: Option<Room>,
    /// What Vigie itself has of it, in bytes.
    pub daemon: Option<u64>,
    /// Where the data lies.
    pub disk: Option<Room>,
    /// Seconds.
    pub up: Option<u64>,
}

/// What is left of how much, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub free: u64,
    pub all: u64,
}

/// What Vigie does on its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing<'a> {
    /// Sessions, each with a holder of its own.
    pub live: usize,
    pub known: usize,
    pub process: u32,
    pub address: &'a str,
}

/// One thing that is closed to agents, or should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    pub name: String,
    pub holds: bool,
    pub words: String,
    pub todo: Option<String>,
}

/// What the doctor found the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Doctor {
    #[default]
    NotYet,
    Failed {
        why: String,
        at: Timestamp,
    },
    Found {
        findings: Vec<Finding>,
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub topic: String,
    pub level: Level,
    pub words: String,
    pub todo: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Fail,
    Warn,
    Good,
}

pub fn page(system: &System) -> Page {
    let version = system.versions.first().map_or("", |(_, version)| version.as_str());
    let main = html! {
        div.head {
            h1 { "System" }
            p.small.dim { "vigie " (version) ", up since " (day_and_clock(system.up_since)) ", event " (system.seq) }
            @if system.may_examine {
                div.end.under { form.act data-post="/doctor" { button.btn { "Run the doctor" } } }
            }
        }
        div.cols {
            div.stack {
                (bridges(system))
                (undelivered(system))
                (doctor(system))
            }
            aside.stack aria-label="Hosts and what runs there" {
                (hosts(system))
                (pairs("versions", "Versions", system.versions))
                (protections(system.protections))
                (people(system))
            }
        }
    };
    Page { title: "System".into(), tab: Tab::System, main }
}

fn bridges(system: &System) -> Markup {
    let columns = ["Service", "State", "Heard last", "Chats", "To send", "Trouble"];
    html! {
        section.band aria-labelledby="b" {
            h2 id="b" { "Chat services" }
            div.panel {
                table.fold role="table" aria-label="Chat services" {
                    thead role="rowgroup" { tr role="row" {
                        @for name in columns { th role="columnheader" scope="col" { (name) } }
                    } }
                    tbody role="rowgroup" { @for bridge in system.bridges { (service(bridge, system.now)) } }
                }
            }
        }
    }
}

fn service(bridge: &BridgeView, now: Timestamp) -> Markup {
    let heard = bridge.heard.map(|heard| (now - heard).num_seconds());
    let listens = match (&bridge.trouble, heard) {
        (Some(_), _) => state("failed", "in trouble"),
        (None, Some(seconds)) if seconds > 60 => state("limited", "not heard"),
        (None, Some(_)) => state("done", "listens"),
        (None, None) => state("done", "is there"),
    };
    let last = match heard {
        Some(seconds) if seconds < 60 => "within a minute".to_owned(),
        Some(_) => {
            bridge.heard.map_or_else(String::new, |heard| format!("{} ago", age(heard, now)))
        }
        None => "–".into(),
    };
    html! {
        tr role="row" {
            th role="rowheader" scope="row" { (bridge.name.to_string()) }
            td role="cell" { (listens) }
            td.n role="cell" data-l="Heard last" { (last) }
            td.n role="cell" data-l="Chats" { (bridge.chats) }
            td.n role="cell" data-l="To send" { (bridge.pending) }
            td.dim role="cell" data-l="Trouble" { (said(bridge.trouble.as_deref().unwrap_or("none"))) }
        }
    }
}

fn undelivered(system: &System) -> Markup {
    let failed = system.undelivered.len();
    html! {
        section.band id="undelivered" aria-labelledby="u" {
            h2 id="u" { "Undelivered" }
            p.small.dim {
                @if failed == 0 { "Nothing of the last seven days: whatever was said has arrived or is on its way." } @else { (many(failed, "message", "messages")) " did not arrive." }
                @if system.to_send > 0 { " " (many(system.to_send, "message waits", "messages wait")) " to be sent." }
            }
            @if failed > 0 { ul.list.panel { @for each in system.undelivered { (not_delivered(each, system.may_retry)) } } }
            @if !system.problems.is_empty() {
                p.small.bad { "Could not be read, and was left where it is:" }
                ul.list.panel { @for words in system.problems { li { p { (said(words)) } } } }
            }
        }
    }
}

fn not_delivered(each: &Undelivered, may_retry: bool) -> Markup {
    html! {
        li id=(format!("undelivered-{}", each.delivery.id)) {
            p { (said(&each.words)) }
            div.line {
                span.small.dim { (day_and_clock(each.at)) }
                @if may_retry {
                    form.act data-post=(format!("/undelivered/{}/retry", each.delivery.id)) { p.error role="alert" hidden {} button.btn { "Try again" } }
                }
            }
        }
    }
}

fn doctor(system: &System) -> Markup {
    let found = match system.doctor {
        Doctor::NotYet => html! {
            p.small.dim { "It has not looked yet. The same at the desk: " code { "vigie doctor" } "." }
        },
        Doctor::Failed { why, at } => html! {
            p.small.bad { "It could not look, " (clock(*at)) ": " (said(why)) }
        },
        Doctor::Found { findings, at } => {
            let good = findings.iter().filter(|finding| finding.level == Level::Good).count();
            let mut open: Vec<_> =
                findings.iter().filter(|finding| finding.level != Level::Good).collect();
            open.sort_by_key(|finding| finding.level);
            html! {
                p.small.dim { "Looked " (clock(*at)) ": " (many(findings.len(), "check", "checks")) ", " (many(open.len(), "finding", "findings")) "." }
                ul.list.panel {
                    @for finding in open { (finding_line(finding)) }
                    li {
                        details {
                            summary { (state("done", "good")) " " (many(good, "check", "checks")) " passed" }
                            ul { @for finding in findings.iter().filter(|finding| finding.level == Level::Good) { li.small { b { (said(&finding.topic)) } " " (said(&finding.words)) } } }
                        }
                    }
                }
            }
        }
    };
    html! { section.band aria-labelledby="d" { h2 id="d" { "Doctor" } (found) } }
}

fn finding_line(finding: &Finding) -> Markup {
    let look = match finding.level {
        Level::Fail => state("failed", "mend"),
        Level::Warn => state("limited", "look"),
        Level::Good => state("done", "good"),
    };
    html! {
        li {
            p { (look) " " b { (said(&finding.topic)) } ": " (said(&finding.words)) }
            @if let Some(todo) = &finding.todo { p.small.dim { (said(todo)) } }
        }
    }
}

/// One for now: sessions run where the daemon does.
fn hosts(system: &System) -> Markup {
    let Host { name, system: runs, cores, load, memory, daemon, disk, up } = system.host;
    let Doing { live, known, process, address } = system.doing;
    let cores =
        cores.map_or_else(String::new, |cores| format!(" on {}", many(cores, "core", "cores")));
    html! {
        section.band aria-labelledby="hosts" {
            h2 id="hosts" { "Hosts" }
            ul.list.panel {
                li {
                    div.line { b { (said(name)) } span.small.dim { "this machine" } }
                    p.small.dim { (said(runs)) }
                    dl.facts {
                        dt { "Sessions" } dd { (live) " live, each with its holder; " (known) " known" }
                        @if let Some(load) = load { dt { "Load" } dd { (format!("{load:.1}")) (cores) } }
                        @if let Some(memory) = memory {
                            dt { "Memory" }
                            dd { (used("Memory used", *memory)) @if let Some(daemon) = daemon { "; Vigie itself " (bytes(*daemon)) } }
                        }
                        @if let Some(disk) = disk { dt { "Disk" } dd { (used("Disk used", *disk)) } }
                        @if let Some(up) = up { dt { "Up for" } dd { (age(system.now - Duration::from_secs(*up), system.now)) } }
                        dt { "Process" } dd { (process) }
                        dt { "Address" } dd { (said(address)) }
                    }
                    (agents(system.doctor))
                }
            }
        }
    }
}

/// "63 %, 88 GB free", with a bar.
fn used(what: &str, room: Room) -> Markup {
    let taken = room.all.saturating_sub(room.free);
    let percent = taken.saturating_mul(100).checked_div(room.all).unwrap_or(0);
    let words = format!("{percent} %");
    html! {
        meter min="0" max="100" high="90" value=(percent) aria-label=(what) { (words) }
        " " (words) ", " (bytes(room.free)) " free"
    }
}

/// What the doctor found the agents' programs to be.
fn agents(doctor: &Doctor) -> Markup {
    let Doctor::Found { findings, .. } = doctor else {
        return html! { p.small.dim { "Which versions of agents are here, the doctor tells." } };
    };
    let agents = findings.iter().filter_map(|it| Some((it.topic.strip_prefix("agent ")?, it)));
    html! {
        dl.facts { @for (name, finding) in agents { dt { "Agent " (said(name)) } dd { (said(&finding.words)) } } }
    }
}

/// "88 GB", "310 MB": of 1,000 each.
fn bytes(count: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = count / (unit / 10);
        if tenths < 100 {
            format!("{}.{}", tenths / 10, tenths % 10)
        } else {
            (tenths / 10).to_string()
        }
    };
    match count {
        0..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        1_000_000_000..1_000_000_000_000 => format!("{} GB", tenths(1_000_000_000)),
        _ => format!("{} TB", tenths(1_000_000_000_000)),
    }
}

fn pairs(id: &str, title: &str, pairs: &[(String, String)]) -> Markup {
    html! {
        section.band aria-labelledby=(id) {
            h2 id=(id) { (title) }
            dl.facts { @for (name, value) in pairs { dt { (said(name)) } dd { (said(value)) } } }
        }
    }
}

fn protections(protections: &[Protection]) -> Markup {
    html! {
        section.band aria-labelledby="k" {
            h2 id="k" { "Closed to agents" }
            ul.list.panel {
                @for each in protections {
                    li {
                        p { (if each.holds { state("done", "closed") } else { state("failed", "open") }) " " b { (each.name) } }
                        p.small.dim { (said(&each.words)) @if let Some(todo) = &each.todo { " " (said(todo)) } }
                    }
                }
            }
        }
    }
}

fn people(system: &System) -> Markup {
    let Some(people) = system.people else { return html! {} };
    html! {
        section.band aria-labelledby="p" {
            h2 id="p" { "People" }
            @if people.is_empty() { p.small.dim { "Nobody is heard over a chat service yet." } } @else {
                ul.list.panel {
                    @for each in people {
                        li {
                            div.line { b { (said(&each.name)) } span.small.dim { (format!("{:?}", each.role).to_lowercase()) } }
                            p.small.dim { (each.bridge.to_string()) ", " code { (said(&each.id)) } }
                        }
                    }
                }
            }
            p.foot.small.dim { "Access changes only at the desk: " code { "vigie pair" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::id::BridgeName;

    #[test]
    fn room_is_read_at_a_glance() {
        for (count, words) in [
            (0, "0.0 MB"),
            (9_940_000, "9.9 MB"),
            (310_400_000, "310 MB"),
            (88_000_000_000, "88 GB"),
            (1_260_000_000_000, "1.2 TB"),
        ] {
            assert_eq!(bytes(count), words);
        }
        let shown = used("Disk used", Room { free: 37, all: 100 }).into_string();
        assert!(shown.contains("63 %, 0.0 MB free"), "{shown}");
        assert!(used("Disk used", Room { free: 0, all: 0 }).into_string().contains("0 %"));
    }

    #[test]
    fn a_service_that_is_not_heard_is_never_green() {
        let now = Timestamp::default() + std::time::Duration::from_hours(2);
        let heard = |seconds| {
            let heard = Some(now - std::time::Duration::from_secs(seconds));
            let bridge = BridgeView {
                name: BridgeName::new("telegram"),
                heard,
                trouble: None,
                chats: 1,
                pending: 0,
            };
            service(&bridge, now).into_string()
        };
        assert!(heard(8).contains("listens") && heard(8).contains("within a minute"));
        let old = heard(600);
        assert!(
            old.contains("not heard") && old.contains("10 min ago") && !old.contains("listens"),
            "{old}"
        );
    }
}
