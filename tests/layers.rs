//! Holds the arrows of `ARCHITECTURE.md`: who may name whom. Read from the manifests and from every
//! `crate::` in the sources, so that a new arrow is a decision and not a slip.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A module of `src/` and what it may name of the others. `daemon` alone knows all.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("tasks", &[]),
    ("store", &[]),
    ("telemetry", &[]),
    ("confine", &[]),
    ("agents", &["clock", "confine"]),
    ("hold", &["agents", "clock", "confine"]),
    ("looks", &["agents", "hold"]),
    ("config", &["agents", "confine"]),
    ("bridges", &["clock", "config", "tasks"]),
    ("rules", &["bridges", "config"]),
    ("hub", &["clock", "store", "tasks", "telemetry"]),
    ("outbox", &["hub", "tasks", "telemetry"]),
    ("workflows", &["clock", "config", "hub", "tasks"]),
    ("sessions", &["agents", "clock", "config", "confine", "hold", "hub", "looks", "tasks"]),
    (
        "runner",
        &["agents", "clock", "config", "confine", "hold", "hub", "looks", "sessions", "tasks"],
    ),
    ("watch", &["hub", "tasks"]),
    ("web", &["clock", "config", "hub", "tasks", "telemetry", "workflows"]),
    ("mcp", &["hub", "tasks"]),
    ("doctor", &["agents", "bridges", "clock", "config", "confine", "web", "workflows"]),
    (
        "daemon",
        &[
            "bridges",
            "clock",
            "config",
            "confine",
            "hold",
            "hub",
            "looks",
            "mcp",
            "outbox",
            "rules",
            "runner",
            "sessions",
            "store",
            "tasks",
            "watch",
            "web",
            "workflows",
        ],
    ),
    (
        "cli",
        &[
            "agents",
            "bridges",
            "clock",
            "config",
            "confine",
            "daemon",
            "doctor",
            "hold",
            "looks",
            "runner",
            "store",
            "tasks",
            "telemetry",
            "web",
            "workflows",
        ],
    ),
];

/// Who may name the packages of bridges: the one file that knows all, and what the core is told.
const MAY_NAME_BRIDGES: &[&str] = &["bridges", "daemon", "rules"];

/// What the core may use: nothing that reaches a disk, a network, a clock or a task.
const CORE_USES: &[&str] = &[
    "async-trait",
    "brush-parser",
    "chrono",
    "chrono-tz",
    "pulldown-cmark",
    "serde",
    "serde_json",
    "sha2",
    "similar",
    "strsim",
    "thiserror",
    "tokio-util",
    "ulid",
    "unicode-segmentation",
    "unicode-width",
    "vigie-workflow",
];

/// And what the language of workflows may use, for the same reason.
const WORKFLOW_USES: &[&str] = &[
    "chrono",
    "chrono-tz",
    "globset",
    "minijinja",
    "saphyr-parser",
    "serde",
    "serde_json",
    "strsim",
    "thiserror",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

/// Every source file of a module, without its comments.
fn sources(module: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let file = root().join(format!("src/{module}.rs"));
    if file.is_file() {
        files.push(file);
    }
    collect(&root().join("src").join(module), &mut files);
    files
        .into_iter()
        .map(|file| (file.clone(), without_comments(&fs::read_to_string(file).unwrap())))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// What stands right after each `crate::`: one name, or the first names inside its braces.
fn named(text: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(first_names(list).iter().map(|part| word(part))),
            None => {
                names.insert(word(rest));
            }
        }
    }
    names
}

/// The parts between the commas of the outermost level of `{…}`, whose `{` is gone already.
fn first_names(list: &str) -> Vec<String> {
    let mut depth = 1;
    let mut parts = vec![String::new()];
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => parts.push(String::new()),
            c if depth == 1 => parts.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// The packages under `[dependencies]` and, with `all`, under the other kinds too.
fn dependencies(manifest: &str, all: bool) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let tables: toml::Table = text.parse().unwrap();
    let kinds: &[&str] = if all {
        &["dependencies", "dev-dependencies", "build-dependencies"]
    } else {
        &["dependencies"]
    };
    let tables = kinds.iter().filter_map(|kind| tables.get(*kind)?.as_table());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn each_module_names_only_what_it_may() {
    let may: BTreeMap<_, _> = MAY_NAME.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, allowed) in &may {
        for (file, text) in sources(module) {
            let unknown = named(&text).into_iter().filter(|name| {
                may.contains_key(name.as_str())
                    && name != module
                    && !allowed.contains(&name.as_str())
            });
            wrong.extend(unknown.map(|name| format!("{} names `{name}`", file.display())));
        }
    }
    assert!(wrong.is_empty(), "arrows that are not in the table:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_is_in_the_table() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared: BTreeSet<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let listed: BTreeSet<&str> = MAY_NAME.iter().map(|(module, _)| *module).collect();
    assert_eq!(declared, listed);
}

#[test]
fn only_the_store_writes_sql() {
    for (module, _) in MAY_NAME.iter().filter(|(module, _)| *module != "store") {
        for (file, text) in sources(module) {
            assert!(!text.contains("rusqlite"), "{} names the database", file.display());
        }
    }
}

#[test]
fn bridges_are_named_where_everything_is_joined() {
    for (module, _) in MAY_NAME.iter().filter(|(module, _)| !MAY_NAME_BRIDGES.contains(module)) {
        for (file, text) in sources(module) {
            for bridge in ["vigie_bridge_kit", "vigie_matrix", "vigie_phone", "vigie_telegram"] {
                assert!(!text.contains(bridge), "{} names a bridge", file.display());
            }
        }
    }
}

#[test]
fn a_bridge_names_only_the_core_and_the_kit_of_ours() {
    let kit = "vigie-bridge-kit";
    for (bridge, may_name) in [
        ("kit", vec!["vigie-core"]),
        ("matrix", vec![kit, "vigie-core"]),
        ("phone", vec![kit, "vigie-core", "vigie-look"]),
        ("telegram", vec![kit, "vigie-core"]),
    ] {
        let ours = dependencies(&format!("bridges/{bridge}/Cargo.toml"), true);
        let ours: Vec<_> = ours.iter().filter(|name| name.starts_with("vigie")).collect();
        assert_eq!(ours, may_name, "{bridge}");
    }
}

#[test]
fn the_core_reaches_nothing_outside() {
    for (package, may_use) in [("core", CORE_USES), ("workflow", WORKFLOW_USES)] {
        let uses = dependencies(&format!("src/{package}/Cargo.toml"), false);
        let allowed: BTreeSet<String> = may_use.iter().map(ToString::to_string).collect();
        assert!(uses.is_subset(&allowed), "{package}: {:?}", uses.difference(&allowed));
    }
}

/// Pages are drawn from what there is to see, and reach nothing.
#[test]
fn the_dashboard_only_draws() {
    let uses = dependencies("src/dashboard/Cargo.toml", false);
    let may_use = [
        "chrono",
        "dagre",
        "maud",
        "serde_json",
        "unicode-width",
        "vigie-core",
        "vigie-look",
        "vigie-workflow",
    ];
    assert!(uses.iter().all(|name| may_use.contains(&name.as_str())), "{uses:?}");
    assert!(dependencies("src/look/Cargo.toml", true).is_empty());
}

#[test]
fn an_arrow_is_found_however_it_is_written() {
    let text = without_comments(
        "use crate::{config::{Config, Role}, hub::Hub, tasks}; // crate::cli\nfn f(_: crate::store::Store) {}",
    );
    let names: Vec<String> = named(&text).into_iter().collect();
    assert_eq!(names, ["config", "hub", "store", "tasks"]);
}
