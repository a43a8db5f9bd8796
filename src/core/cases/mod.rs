//! Cases as data: this folder holds what people and agents write and what it must become. A line of
//! a `.txt` file reads `input => expected`; `\n`, `\t` and `\u{…}` are escapes, `¦` is nothing (it
//! keeps scanners from taking an invented secret for a real one), `#` begins a comment.

use std::{fmt::Write as _, fs, path::PathBuf};

use crate::{
    answer::{Reading, Words, read},
    bridge::Risk,
    policy::{Asking, Catastrophic, CommandPattern, Effect, Policy, judge},
    risk::describe,
    route::{Address, StoryPattern, Target, address},
    text::{Rich, Style, markdown, mask, reveal},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("cases")
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let escape = [("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("¦", "")]
            .into_iter()
            .find(|(from, _)| rest.starts_with(from));
        if let Some((from, to)) = escape {
            out.push_str(to);
            rest = &rest[from.len()..];
        } else if let Some(number) = rest.strip_prefix("\\u{") {
            let (number, after) = number.split_once('}').unwrap();
            out.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Compares every line of a file and names all that differ.
fn each_line(file: &str, most: impl Fn(&str) -> String) {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let mut wrong = String::new();
    let mut count = 0;
    for (number, line) in
        text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    {
        let (input, expected) =
            line.rsplit_once(" => ").unwrap_or_else(|| panic!("{file}:{}", number + 1));
        let (got, expected) = (most(&unescaped(input)), unescaped(expected));
        count += 1;
        if got != expected {
            let _ = writeln!(
                wrong,
                "{file}:{}: {input}\n  expected {expected:?}\n       got {got:?}",
                number + 1
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count > 10, "{file} holds its cases");
}

#[test]
fn prefixes() {
    let known =
        |name: &str| ["docs", "hotfix-2"].iter().any(|known| known.eq_ignore_ascii_case(name));
    each_line("prefix.txt", |text| match address(text, &StoryPattern::default(), &known) {
        Address::None => "text".into(),
        Address::Refused { suggestion, .. } => format!("refused, {suggestion}?"),
        Address::To { targets, text } => {
            let names: Vec<String> = targets
                .into_iter()
                .map(|target| match target {
                    Target::Name(name) => name,
                    Target::Group(start) => format!("{start}*"),
                    Target::All => "everybody".into(),
                })
                .collect();
            format!("{}: {text}", names.join(" and "))
        }
    });
}

#[test]
fn answers() {
    let words = Words::for_languages(&["en", "fr"]);
    each_line("answer.txt", |text| {
        let code = |code: Option<crate::id::GateCode>| {
            code.map_or(String::new(), |code| format!(" {code}"))
        };
        match read(text, &words) {
            Reading::Allow { code: c } => format!("allow{}", code(c)),
            Reading::AllowWith { code: c, words } => format!("allow {c} with: {words}"),
            Reading::Back { code: c, words } => format!("back{}: {words}", code(c)),
            Reading::Deny { code: c, reason } => {
                format!(
                    "deny{}{}",
                    code(c),
                    reason.map_or(String::new(), |reason| format!(": {reason}"))
                )
            }
            Reading::AllowAll => "allow all".into(),
            Reading::AllowForSession { code: c } => format!("allow for session{}", code(c)),
            Reading::AllowForHours { code: c } => format!("allow for hours{}", code(c)),
            Reading::Option { code: c, numbers } => format!("option{} {numbers:?}", code(c)),
            Reading::Unclear { did_you_mean } => format!("{did_you_mean}?"),
            Reading::NotAnAnswer => "message".into(),
        }
    });
}

#[test]
fn risks() {
    each_line("risk.txt", |command| {
        let input = serde_json::json!({ "command": command });
        match describe("Bash", &input, "/home/ines/quay").risk {
            Risk::Plain => "plain".into(),
            Risk::Care => "care".into(),
            Risk::Code => "code".into(),
        }
    });
}

#[test]
fn policies() {
    let policy = |effect, patterns: &[&str]| Policy {
        name: String::new(),
        line: 1,
        effect,
        reason: None,
        tools: Vec::new(),
        commands: patterns.iter().map(|text| CommandPattern::parse(text).unwrap()).collect(),
        paths: Vec::new(),
        projects: Vec::new(),
        sessions: Vec::new(),
        hours: None,
        catastrophic: Catastrophic::Allowed,
    };
    let allowed = [
        "git *",
        "ls *",
        "cat *",
        "cargo *",
        "echo *",
        "cd *",
        "find *",
        "sort *",
        "bash *",
        "python3 *",
        "env *",
        "sudo *",
        "xargs *",
        "MODE=* make *",
    ];
    let policies = [policy(Effect::Deny, &["rm *"]), policy(Effect::Allow, &allowed)];
    each_line("policy.txt", |command| {
        let asking = Asking {
            tool: "Bash",
            input: &serde_json::json!({ "command": command }),
            cwd: "/home/ines/quay",
            folders: &["/home/ines/quay".into()],
            links: None,
            project: None,
            asker: None,
            risk: Risk::Plain,
            now: crate::Timestamp::UNIX_EPOCH,
        };
        judge(&policies, &asking).decided.map_or("none".into(), |it| it.policy.effect.to_string())
    });
}

#[test]
fn secrets() {
    each_line("mask.txt", |text| mask(text).text);
}

#[test]
fn hidden() {
    each_line("reveal.txt", |text| reveal(text).text.text);
}

#[test]
fn pages() {
    let mut wrong = String::new();
    let mut count = 0;
    for entry in fs::read_dir(folder().join("markdown")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        count += 1;
        let rich = markdown(&unescaped(&fs::read_to_string(&path).unwrap()));
        assert_eq!(rich.check(), Ok(()), "{}", path.display());
        let got = drawn(&rich);
        let expected = fs::read_to_string(path.with_extension("expect")).unwrap_or_default();
        if got != expected.trim_end_matches('\n') {
            let _ = writeln!(wrong, "=== {}\n{got}", path.file_name().unwrap().display());
        }
    }
    assert!(wrong.is_empty(), "pages that came out otherwise:\n{wrong}");
    assert!(count > 10);
}

/// The text with its spans as `‹b›…‹/b›`.
fn drawn(rich: &Rich) -> String {
    let mut marks: Vec<(usize, usize, String)> = Vec::new();
    for (number, span) in rich.spans.iter().enumerate() {
        let name = match &span.style {
            Style::Bold => "b".into(),
            Style::Italic => "i".into(),
            Style::Strike => "s".into(),
            Style::Code => "c".into(),
            Style::Pre { language } => format!("pre {}", language.as_deref().unwrap_or("-")),
            Style::Quote => "q".into(),
            Style::Heading => "h".into(),
            Style::Link { url } => format!("a {url}"),
            Style::Hidden => "hid".into(),
            Style::LookAlike => "odd".into(),
        };
        let end = name.split(' ').next().unwrap().to_owned();
        marks.push((span.range.start, 1 + number, format!("‹{name}›")));
        // Ends stand before starts at the same place, the inner before the outer.
        marks.push((span.range.end, 0, format!("‹/{end}›{:04}", 9_999 - number)));
    }
    marks.sort_by(|a, b| {
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2[a.2.len() - 4..].cmp(&b.2[b.2.len() - 4..]))
    });
    let mut out = String::new();
    let mut from = 0;
    for (at, order, mark) in marks {
        out.push_str(&rich.text[from..at]);
        out.push_str(if order == 0 { &mark[..mark.len() - 4] } else { &mark });
        from = at;
    }
    out.push_str(&rich.text[from..]);
    out
}
