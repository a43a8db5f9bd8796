//! What the documents name exists: files, commands, settings, pages they lead to.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use clap::{CommandFactory, Parser};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use vigie::cli::Args;

/// Folders that hold no documents of ours: what is built, and what the core's tests read.
const NOT_OURS: [&str; 4] = ["target", ".git", "node_modules", "src/core/cases"];

/// What a person would type for the words in capitals. Every other one is a word like any other.
const PLACEHOLDERS: [(&str, &str); 3] =
    [("ADDRESS", "127.0.0.1:7285"), ("NUMBER", "7"), ("SHELL", "bash")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// Every `*.md` of the repository, by its path from the root.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                open.extend((!NOT_OURS.contains(&name.as_str())).then_some(path));
            } else if Path::new(&name).extension().is_some_and(|ending| ending == "md") {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// The documents for people who use Vigie.
fn guides() -> impl Iterator<Item = String> {
    documents().into_iter().filter(|name| name.starts_with("docs/") || name == "README.md")
}

/// A document, apart: its fenced blocks with their language, and the code spans outside of them.
#[derive(Default)]
struct Parts {
    blocks: Vec<(String, String)>,
    spans: Vec<String>,
    prose: String,
}

fn parts(text: &str) -> Parts {
    let mut parts = Parts::default();
    let mut inside = false;
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            if !inside {
                parts.blocks.push((language.trim().into(), String::new()));
            }
            inside = !inside;
        } else if let (true, Some((_, block))) = (inside, parts.blocks.last_mut()) {
            block.push_str(line);
            block.push('\n');
        } else {
            parts.prose.push_str(line);
            parts.prose.push('\n');
        }
    }
    // Every second piece stands between backticks.
    parts.spans = parts.prose.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    parts
}

/// What stands in `text` as `vigie …`, a command each: whole lines of blocks that are typed, and
/// spans.
fn commands(text: &str) -> Vec<String> {
    let Parts { blocks, spans, .. } = parts(text);
    let lines = blocks.iter().flat_map(|(_, block)| block.lines());
    let typed = lines.filter_map(|line| line.find("vigie ").map(|at| (line, at)));
    // In front of it may stand a variable or the way to the program, and nothing else.
    let typed = typed.filter(|(line, at)| {
        let before = line[..*at].trim();
        before.is_empty() || before.ends_with('/') || before.contains('=')
    });
    let typed = typed.map(|(line, at)| line[at..].to_owned());
    let named = spans.iter().map(|span| span.replace('\n', " ")).filter_map(|span| {
        let at = span.find("vigie ")?;
        (at == 0 || span[..at].contains('=')).then(|| span[at..].to_owned())
    });
    typed.chain(named).collect()
}

/// The ways a command can be typed that stands in a document: without what the shell takes, with
/// something for each placeholder, and one for each alternative.
fn ways(command: &str) -> Vec<Vec<String>> {
    let command = command.replace("\\|", "|").replace(['[', ']', '…'], "");
    let mut words: Vec<Vec<String>> = vec![Vec::new()];
    let mut quoted: Option<String> = None;
    let mut all = command.split_whitespace().peekable();
    while let Some(word) = all.next() {
        if let Some(text) = &mut quoted {
            text.push(' ');
            text.push_str(word.trim_end_matches('"'));
            if word.ends_with('"') {
                let text = quoted.take().unwrap();
                for way in &mut words {
                    way.push(text.clone());
                }
            }
            continue;
        }
        match word {
            "#" | ">" | "<" => break,
            "|" => {
                // Another last word instead.
                let other = all.next().unwrap_or_default();
                let mut way = words[0].clone();
                way.pop();
                way.push(other.into());
                words.push(way);
            }
            _ if word.starts_with('"') && !(word.len() > 1 && word.ends_with('"')) => {
                quoted = Some(word[1..].into());
            }
            _ => {
                let word = word.trim_matches('"');
                let typed = PLACEHOLDERS.iter().find(|(name, _)| *name == word);
                let typed = typed.map_or(word, |(_, typed)| typed);
                for way in &mut words {
                    way.push(typed.into());
                }
            }
        }
    }
    words
}

/// Why clap does not take it. A command's bare name stands for the command as such.
fn refused(way: &[String]) -> Option<String> {
    if let [_, name] = way
        && Args::command().find_subcommand(name).is_some()
    {
        return None;
    }
    Args::try_parse_from(way).err().filter(clap::Error::use_stderr).map(|error| error.to_string())
}

#[test]
fn every_command_in_the_guides_can_be_typed() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for name in guides().chain(["SECURITY.md".into(), "CONTRIBUTING.md".into()]) {
        for command in commands(&read(&name)) {
            seen += 1;
            let bad = ways(&command).into_iter().find_map(|way| refused(&way));
            wrong.extend(bad.map(|why| format!("{name}: {command}\n{why}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 60, "only {seen} were found: the search is broken");
}

#[test]
fn every_command_is_in_the_table() {
    let table = parts(&read("docs/command-line.md")).prose;
    let rows: String = table.lines().filter(|line| line.starts_with('|')).collect();
    let words: BTreeSet<&str> = rows.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let args = Args::command();
    let known = args.get_subcommands().filter(|command| !command.is_hide_set());
    let missing: Vec<_> =
        known.map(clap::Command::get_name).filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn commands_are_found_as_people_write_them() {
    let text = "`vigie pair`, and `VIGIE_LOG=x vigie\nup`\n```sh\nvigie new a \"b c\"  # starts it\nsudo vigie x\nvigie send a - < f\n```\n";
    let found: Vec<_> = commands(text).iter().map(|command| ways(command)).collect();
    let expected: [&[&str]; 4] = [
        &["vigie", "new", "a", "b c"],
        &["vigie", "send", "a", "-"],
        &["vigie", "pair"],
        &["vigie", "up"],
    ];
    assert_eq!(found.concat(), expected);
    let both = ways("vigie log NAME [--raw \\| --path]");
    assert_eq!(both, [["vigie", "log", "NAME", "--raw"], ["vigie", "log", "NAME", "--path"]]);
    assert!(refused(&ways("vigie watch --since NUMBER")[0]).is_some());
    assert!(refused(&ways("vigie hold")[0]).is_none());
    assert!(refused(&ways("vigie fetch")[0]).is_some());
}

/// What `](…)` leads to, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose = parts(text).prose;
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// How a page's headings are addressed.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = parts(text).prose;
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let plain = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    plain
        .map(|heading| {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for name in documents() {
        let text = read(&name);
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = root().join(&name).parent().unwrap().to_owned();
            let target = if file.is_empty() { root().join(&name) } else { folder.join(file) };
            let found = target.exists()
                && (anchor.is_empty()
                    || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor));
            if !found {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first words of the lines of the map.
fn map() -> Vec<String> {
    let Parts { blocks, .. } = parts(&read("ARCHITECTURE.md"));
    let (_, map) = blocks.iter().find(|(_, block)| block.starts_with("src/main.rs")).unwrap();
    map.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn what_the_architecture_names_exists() {
    let spans = parts(&read("ARCHITECTURE.md")).spans;
    let path = |span: &String| {
        span.contains('/')
            && ["src/", "bridges/", "tests/", "docs/", "xtask/", ".ci/"]
                .iter()
                .any(|start| span.starts_with(start))
    };
    let named: Vec<_> = map().into_iter().chain(spans.into_iter().filter(path)).collect();
    let missing: Vec<_> = named.iter().filter(|name| !root().join(name).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Modules that a file declares.
fn modules(file: &str) -> Vec<String> {
    let text = read(file);
    let mut for_tests = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let declared = line.trim_start_matches("pub ").strip_prefix("mod ");
        if let Some(name) = declared.and_then(|rest| rest.strip_suffix(';')) {
            found.extend((!for_tests).then(|| name.to_owned()));
        }
        for_tests = line == "#[cfg(test)]";
    }
    found
}

#[test]
fn every_module_is_on_the_map() {
    let map = map();
    for (file, folder) in [
        ("src/lib.rs", "src"),
        ("src/core/lib.rs", "src/core"),
        ("src/core/decide/mod.rs", "src/core/decide"),
    ] {
        for module in modules(file) {
            let names = [format!("{folder}/{module}.rs"), format!("{folder}/{module}/")];
            let decide = format!("{folder}/{module}/mod.rs");
            let there = map.iter().any(|line| names.contains(line) || *line == decide);
            assert!(there, "{} is not on the map", names[0]);
        }
    }
}

#[test]
fn every_dependency_is_in_the_table() {
    let text = parts(&read("ARCHITECTURE.md")).prose;
    let (_, table) = text.split_once("## Dependencies").unwrap();
    let cells = table.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let listed: BTreeSet<String> =
        cells.flat_map(|cell| cell.split(',').map(|name| name.trim().to_owned())).collect();
    let mut used = BTreeSet::new();
    for manifest in [
        "Cargo.toml",
        "src/core/Cargo.toml",
        "src/workflow/Cargo.toml",
        "src/dashboard/Cargo.toml",
        "bridges/kit/Cargo.toml",
        "bridges/matrix/Cargo.toml",
        "bridges/phone/Cargo.toml",
        "bridges/telegram/Cargo.toml",
        "tests/browser/Cargo.toml",
        "xtask/Cargo.toml",
    ] {
        let all: toml::Table = read(manifest).parse().unwrap();
        // Some are for one system alone.
        let systems = all.get("target").and_then(toml::Value::as_table).into_iter().flatten();
        let systems = systems.filter_map(|(_, tables)| tables.as_table());
        for tables in systems.chain([&all]) {
            for kind in ["dependencies", "dev-dependencies"] {
                let names = tables.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
                let others = names.filter(|(_, from)| from.get("path").is_none());
                let others = others.map(|(name, _)| name.clone());
                used.extend(others.filter(|name| !name.starts_with("vigie")));
            }
        }
    }
    let missing: Vec<_> = used.difference(&listed).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let gone: Vec<_> =
        listed.difference(&used).filter(|n| !matches!(n.as_str(), "crate" | "---")).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

/// Tables of a configuration and the keys in each.
fn keys(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for (table, value) in text.parse::<toml::Table>().unwrap() {
        let rows = match value {
            toml::Value::Array(rows) => rows,
            one => vec![one],
        };
        let keys = rows.into_iter().flat_map(|row| row.as_table().cloned().unwrap_or_default());
        all.entry(table).or_default().extend(keys.map(|(key, _)| key));
    }
    all
}

/// The example with its examples: lines that begin with `#` and no space.
fn settings() -> BTreeMap<String, BTreeSet<String>> {
    let text = read("config.example.toml");
    let lines = text.lines().map(|line| match line.strip_prefix('#') {
        Some(example) if !example.starts_with(' ') => example,
        Some(_) | None => line,
    });
    keys(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_setting_in_the_guides_exists() {
    let settings = settings();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for name in guides() {
        let Parts { blocks, spans, .. } = parts(&read(&name));
        for (_, block) in blocks.iter().filter(|(language, _)| language == "toml") {
            for (table, keys) in keys(block) {
                seen += keys.len();
                let known = settings.get(&table).cloned().unwrap_or_default();
                wrong.extend(keys.difference(&known).map(|key| format!("{name}: [{table}] {key}")));
            }
        }
        let set = spans.iter().filter_map(|span| span.split_once(" = "));
        for (key, _) in set {
            seen += 1;
            if !settings.values().any(|keys| keys.contains(key)) {
                wrong.push(format!("{name}: {key}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 15, "only {seen} were found: the search is broken");
}
