//! What policies decide, in the order they stand in.

use super::*;
use serde_json::json;

fn policy(effect: Effect) -> Policy {
    Policy {
        name: String::new(),
        line: 1,
        effect,
        reason: None,
        tools: Vec::new(),
        commands: Vec::new(),
        paths: Vec::new(),
        projects: Vec::new(),
        sessions: Vec::new(),
        hours: None,
        catastrophic: Catastrophic::Asked,
    }
}

fn commands(effect: Effect, patterns: &[&str]) -> Policy {
    let commands = patterns.iter().map(|text| CommandPattern::parse(text).unwrap()).collect();
    Policy { commands, ..policy(effect) }
}

fn paths(effect: Effect, patterns: &[&str]) -> Policy {
    let paths = patterns.iter().map(|text| PathPattern::parse(text).unwrap()).collect();
    Policy { paths, ..policy(effect) }
}

fn asked(policies: &[Policy], tool: &str, input: &Value) -> String {
    let risk = crate::risk::describe(tool, input, "/home/ines/quay").risk;
    let asking = Asking {
        tool,
        input,
        cwd: "/home/ines/quay",
        project: Some("quay"),
        asker: Some("PD-285"),
        risk,
        now: "2026-11-30T10:00:00Z".parse().unwrap(),
    };
    judge(policies, &asking).decided.map_or("none".into(), |it| it.policy.effect.to_string())
}

fn runs(policies: &[Policy], command: &str) -> String {
    asked(policies, "Bash", &json!({ "command": command }))
}

#[test]
fn the_first_that_fits_decides() {
    let policies = [
        commands(Effect::Ask, &["cargo publish *"]),
        commands(Effect::Allow, &["cargo *"]),
        commands(Effect::Deny, &["cargo clean"]),
    ];
    assert_eq!(runs(&policies, "cargo publish"), "ask");
    assert_eq!(runs(&policies, "cargo clean"), "allow");
    assert_eq!(runs(&policies, "cargo test && cargo publish"), "ask", "one part is enough to ask");
    assert_eq!(runs(&policies, "cargo test && make"), "none", "every part is needed to allow");
    assert_eq!(runs(&policies, "make"), "none");
}

#[test]
fn what_needs_its_code_is_allowed_only_where_the_policy_says_so() {
    let mut allow = commands(Effect::Allow, &["rm -rf build"]);
    assert_eq!(runs(std::slice::from_ref(&allow), "rm -rf build"), "none");
    allow.catastrophic = Catastrophic::Allowed;
    assert_eq!(runs(std::slice::from_ref(&allow), "rm -rf build"), "allow");
    assert_eq!(runs(&[allow], "rm -rf build /"), "none");
    let everything = Policy { tools: vec![Glob::new("*")], ..policy(Effect::Allow) };
    assert_eq!(runs(&[everything], "sudo ls"), "none");
}

#[test]
fn a_request_that_sets_more_than_its_command_is_not_what_was_allowed() {
    let allow = [commands(Effect::Allow, &["ls *"])];
    let with = |field: &str, value: Value| {
        asked(&allow, "Bash", &json!({ "command": "ls", "description": "x", field: value }))
    };
    assert_eq!(with("timeout", json!(5)), "allow");
    assert_eq!(with("dangerouslyDisableSandbox", json!(false)), "allow");
    assert_eq!(with("dangerouslyDisableSandbox", json!(true)), "none");
    assert_eq!(with("cwd", json!("/")), "none");
    assert_eq!(asked(&allow, "Bash", &json!({ "command": ["ls"] })), "none");
}

#[test]
fn tools_go_by_their_whole_name() {
    let allow = [Policy { tools: vec![Glob::new("Read")], ..policy(Effect::Allow) }];
    assert_eq!(asked(&allow, "Read", &json!({ "file_path": "a" })), "allow");
    for other in ["ReadMcpResource", "read", "mcp__x__Read", "Rеad"] {
        assert_eq!(asked(&allow, other, &json!({ "file_path": "a" })), "none", "{other}");
    }
    let one_server = [Policy { tools: vec![Glob::new("mcp__lab__*")], ..policy(Effect::Deny) }];
    assert_eq!(asked(&one_server, "mcp__lab__wipe", &json!({})), "deny");
    assert_eq!(asked(&one_server, "mcp__labs__wipe", &json!({})), "none");
}

#[test]
fn files_are_told_by_where_they_are() {
    let allow = [paths(Effect::Allow, &["src/**"])];
    let write = |path: &str| asked(&allow, "Write", &json!({ "file_path": path, "content": "x" }));
    assert_eq!(write("/home/ines/quay/src/a.rs"), "allow");
    assert_eq!(write("src/../../.ssh/config"), "none");
    assert_eq!(write("/home/ines/quay-2/src/a.rs"), "none");
    assert_eq!(runs(&allow, "python src/a.py"), "none", "a command is no file");
    assert_eq!(asked(&allow, "mcp__fs__write", &json!({ "path": "src/a.rs" })), "none");
    let deny = [paths(Effect::Deny, &["**/.env*", ".git/**"])];
    assert_eq!(asked(&deny, "Read", &json!({ "file_path": "a/.env.local" })), "deny");
    assert_eq!(asked(&deny, "mcp__fs__write", &json!({ "at": [{ "p": "a/.ENV" }] })), "deny");
    for command in [
        "cat .env",
        "cat < .env",
        "sh -c 'cat <.env'",
        "echo x > .git/config",
        "cp a .GIT/hooks/x",
        "dd --of=.env",
        "sh -c 'cat .env'",
    ] {
        assert_eq!(runs(&deny, command), "deny", "{command}");
    }
    assert_eq!(runs(&deny, "cat environment"), "none");
}

#[test]
fn commands_and_paths_together_need_both() {
    let mut allow = commands(Effect::Allow, &["rm *", "cp *", "cd *"]);
    allow.paths = vec![PathPattern::parse("build/**").unwrap()];
    allow.catastrophic = Catastrophic::Allowed;
    let allow = [allow];
    for (command, effect) in [
        ("rm -rf build/x", "allow"),
        ("rm -rf build src", "none"),
        ("cp --target-directory=/etc build/x", "none"),
        ("cp build/a build/b > build/log", "allow"),
        ("cp build/a build/b > log", "none"),
        ("cd build && rm -rf x", "none"),
        ("rm -rf build/../src", "none"),
    ] {
        assert_eq!(runs(&allow, command), effect, "{command}");
    }
}

#[test]
fn who_asks_where_and_when_counts() {
    let here = Policy { projects: vec![ProjectName::new("quay")], ..policy(Effect::Deny) };
    let there = Policy { projects: vec![ProjectName::new("lab")], ..policy(Effect::Deny) };
    let story = Policy { sessions: vec![Glob::new("pd-*")], ..policy(Effect::Deny) };
    let other = Policy { sessions: vec![Glob::new("docs")], ..policy(Effect::Deny) };
    let (from, to) = Hours::span("22:00-06:00").unwrap();
    let zone = Hours::zone("UTC").unwrap();
    let night = Some(Hours { from, to, days: Days::all(), zone });
    let at_night = Policy { hours: night, ..policy(Effect::Deny) };
    assert_eq!(runs(&[here], "ls"), "deny");
    assert_eq!(runs(&[story], "ls"), "deny");
    assert_eq!(runs(&[there, other, at_night], "ls"), "none");
}

#[test]
fn why_is_said_of_each() {
    let named = Policy { name: "tests".into(), ..commands(Effect::Allow, &["cargo test *"]) };
    let policies = [paths(Effect::Deny, &[".env"]), commands(Effect::Ask, &["git push *"]), named];
    let input = json!({ "command": "cargo test && cargo test -p core" });
    let asking = Asking {
        tool: "Bash",
        input: &input,
        cwd: "/p",
        project: None,
        asker: None,
        risk: Risk::Plain,
        now: "2026-11-30T10:00:00Z".parse().unwrap(),
    };
    let judgement = judge(&policies, &asking);
    let passed: Vec<&str> = judgement.passed_over.iter().map(|it| it.why.as_str()).collect();
    assert_eq!(
        passed,
        ["it names none of its paths", "none of the commands in it is one of its own"]
    );
    let decided = judgement.decided.unwrap();
    assert_eq!(decided.policy.to_string(), "policy `tests` (line 1)");
    assert_eq!(
        decided.why,
        "`cargo test` is `cargo test *`, and `cargo test -p core` is `cargo test *`"
    );
}

#[test]
fn options_before_the_verb_hide_nothing() {
    let policies = [
        commands(Effect::Deny, &["git push *", "npm publish *", "cargo publish *"]),
        commands(Effect::Allow, &["git *", "npm *", "cargo *"]),
    ];
    for denied in [
        "git -C . push",
        "git --no-pager push origin x",
        "git --git-dir=x -c a=b push",
        "npm -w a publish",
        "cargo +nightly -q publish",
    ] {
        assert_eq!(runs(&policies, denied), "deny", "{denied}");
    }
    for allowed in ["git commit -m push", "git stash push", "cargo test -- publish"] {
        assert_eq!(runs(&policies, allowed), "allow", "{allowed}");
    }
}

#[test]
fn a_change_of_folder_or_a_home_hides_no_file() {
    let policies = [
        paths(Effect::Deny, &["**/.env*", "/home/ines/.ssh/**", "/etc/shadow"]),
        commands(Effect::Allow, &["cat *", "cd *", "ls *", "touch *"]),
    ];
    for denied in [
        "cd sub && cat ../.env",
        "cd / && cat etc/shadow",
        "(cd /etc; cat shadow)",
        "cd / && cat < etc/shadow",
        "cd && cat .ssh/id_rsa",
        "cat ~/.ssh/id_rsa",
        "ls ~/.ssh",
        "cat $HOME/.ssh/id_rsa",
        "touch ok .env",
    ] {
        assert_eq!(runs(&policies, denied), "deny", "{denied}");
    }
    for allowed in ["cd sub && cat a.txt", "cat env", "ls src"] {
        assert_eq!(runs(&policies, allowed), "allow", "{allowed}");
    }
}

#[test]
fn what_a_test_computes_is_not_sure() {
    let policies = [commands(Effect::Allow, &["test *"])];
    assert_eq!(runs(&policies, "test -f x"), "allow");
    assert_eq!(runs(&policies, "test -v 'a[$(touch y)]'"), "none");
}

#[test]
fn a_file_that_is_glued_to_a_flag_is_none_of_its_paths() {
    let copies = commands(Effect::Allow, &["cp *", "tar *"]);
    let policies = [Policy { paths: paths(Effect::Allow, &["build/**"]).paths, ..copies }];
    assert_eq!(runs(&policies, "cp -r build/a build/b"), "allow");
    for asked in ["cp -tsrc build/x", "cp -rtsrc build/x", "tar -cfout build/x"] {
        assert_eq!(runs(&policies, asked), "none", "{asked}");
    }
}
