//! What a person reads when the configuration is wrong, and what holds without one.

use chrono::TimeDelta;
use std::path::PathBuf;
use vigie::config::{
    Bounds, Config, Lord, OnOff, Role, SecretFrom, Surroundings, WorkflowRules, WorktreeMode,
};
use vigie_core::{
    id::{AgentName, ProjectName},
    ringing::{DigestTime, Kind, Loudness},
};

fn around() -> Surroundings {
    Surroundings {
        home: "/home/ines".into(),
        data: "/home/ines/.local/share/vigie".into(),
        config: "config.toml".into(),
        user: "ines".into(),
        shell: "/bin/bash".into(),
        claude: None,
    }
}

fn read(text: &str) -> Config {
    Config::parse(text, &around()).unwrap_or_else(|error| panic!("{error}"))
}

fn explain(text: &str) -> String {
    Config::parse(text, &around()).expect_err("it should be refused").to_string()
}

#[test]
fn the_example_is_the_defaults() {
    assert_eq!(read(vigie::config::EXAMPLE), Config::defaults(&around()));
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(read(""), Config::defaults(&around()));
}

#[test]
fn without_a_file_there_is_one_owner_and_a_demo() {
    let config = Config::defaults(&around());
    assert_eq!(config.owner().name, "ines");
    assert_eq!(config.projects[0].path, PathBuf::from("/home/ines/.local/share/vigie/demo"));
    let agents: Vec<&str> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(agents, ["demo", "shell"]);
}

#[test]
fn claude_is_there_when_it_is_on_the_path() {
    let config = Config::defaults(&Surroundings { claude: Some("/opt/claude".into()), ..around() });
    assert_eq!(config.agents[2].program, PathBuf::from("/opt/claude"));
}

#[test]
fn what_is_set_is_read() {
    let config = read(
        r#"
        [web]
        listen = "192.0.2.7:80"
        allow_remote = true
        hosts = ["Harbour.example.org"]
        url = "https://harbour.example.org/"

        [[human]]
        id = "ines"
        name = "Inès Caradec"
        role = "owner"

        [[human]]
        id = "tomas"
        role = "viewer"
        phone = false

        [[project]]
        name = "quay"
        path = "~/work/quay"
        agent = "claude"
        worktree = "per-story"

        [[agent]]
        name = "shell"
        kind = "shell"
        program = "/bin/zsh"

        [routing]
        stories = ["pd"]
        languages = ["en", "fr"]

        [gates]
        deadline = "1h30m"

        [recording]
        limit = "2 GiB"
        "#,
    );
    assert_eq!(config.web.hosts, ["harbour.example.org"]);
    assert_eq!(config.web.url.unwrap().authority, "harbour.example.org");
    assert_eq!(config.humans[1].role, Role::Viewer);
    assert_eq!(config.humans[1].phone, OnOff::Off);
    assert_eq!(config.projects[0].path, PathBuf::from("/home/ines/work/quay"));
    assert_eq!(config.projects[0].worktree, WorktreeMode::PerStory);
    let programs: Vec<_> =
        config.agents.iter().map(|agent| agent.program.to_str().unwrap()).collect();
    assert_eq!(
        programs,
        ["vigie", "/bin/zsh", "claude"],
        "a named claude need not be installed yet"
    );
    assert_eq!(config.routing.stories, ["PD"]);
    assert_eq!(config.gates.deadline.as_secs(), 5400);
    assert_eq!(config.recording.limit, 2 << 30);
}

#[test]
fn a_misspelt_key_and_a_misspelt_table_are_said_together() {
    insta::assert_snapshot!(explain("[web]\nlistn = \"127.0.0.1:80\"\n\n[[projet]]\nname = \"quay\"\n"), @r#"
    config.toml:2:1: [web] has no key `listn`
      | listn = "127.0.0.1:80"
      | ^^^^^
      Did you mean `listen`? Keys: listen, allow_remote, hosts, url.

    config.toml:4:3: there is no table `projet`
      | [[projet]]
      |   ^^^^^^
      Did you mean `project`? Tables: web, human, project, agent, routing, gates, recording, phone, telegram, matrix, access, bounds, lord, workflows, secret, policy, budget, ringing, telemetry.
    "#);
}

#[test]
fn a_wrong_kind_of_value_is_said_with_its_place() {
    insta::assert_snapshot!(explain("[web]\nlisten = 7285\n"), @r"
    config.toml:2:10: [web]: invalid type: integer `7285`, expected a string
      | listen = 7285
      |          ^^^^
    ");
}

#[test]
fn broken_toml_is_said_with_its_place() {
    insta::assert_snapshot!(explain("[web]\nlisten = \"127.0.0.1:7285\n\n[gates\n"), @r#"
    config.toml:2:25: invalid basic string, expected `"`
      | listen = "127.0.0.1:7285
      |                         ^

    config.toml:4:7: unclosed table, expected `]`
      | [gates
      |       ^
    "#);
}

#[test]
fn other_machines_are_let_in_only_when_it_is_said_twice() {
    insta::assert_snapshot!(explain("[web]\nlisten = \"0.0.0.0:7285\"\nallow_remote = true\n"), @r#"
    config.toml:2:10: `0.0.0.0:7285` lets other machines in
      | listen = "0.0.0.0:7285"
      |          ^^^^^^^^^^^^^^
      Keep 127.0.0.1 and use a tunnel, or set `allow_remote = true` and `hosts = ["…"]`, the names people type for this machine.
    "#);
    read("[web]\nlisten = \"0.0.0.0:7285\"\nallow_remote = true\nhosts = [\"harbour\"]\n");
}

#[test]
fn an_unknown_agent_is_said_with_the_nearest() {
    let text = "[[project]]\nname = \"quay\"\npath = \"/srv/quay\"\nagent = \"shel\"\n";
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:4:9: no agent is called `shel`
      | agent = "shel"
      |         ^^^^^^
      Did you mean `shell`? Agents: demo, shell.
    "#);
}

#[test]
fn every_value_is_checked() {
    let text = r#"
[[human]]
id = "tomas"
role = "aprover"

[[project]]
name = "Quay!"
path = "work/quay"
worktree = "per-day"

[[project]]
path = "/srv/a"

[[agent]]
name = "a"
kind = "shell"

[[agent]]
name = "a"
kind = "cluade"

[gates]
deadline = "2 days"

[recording]
limit = "64"

[routing]
stories = ["PD-"]
languages = ["de"]
"#;
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:4:8: `aprover` is not possible here
      | role = "aprover"
      |        ^^^^^^^^^
      Did you mean `approver`? Possible: owner, approver, talker, viewer.

    config.toml:7:8: `Quay!` is no name
      | name = "Quay!"
      |        ^^^^^^^
      Use a-z, 0-9, `-`, `_` and `.`, at most 40 of them.

    config.toml:8:8: `work/quay` is not absolute
      | path = "work/quay"
      |        ^^^^^^^^^^^
      Write an absolute path, or one that begins with `~/`.

    config.toml:9:12: `per-day` is not possible here
      | worktree = "per-day"
      |            ^^^^^^^^^
      Possible: none, per-story.

    config.toml:11:1: [[project]] needs `name`
      | [[project]]
      | ^^^^^^^^^^^

    config.toml:19:8: `a` is there twice
      | name = "a"
      |        ^^^

    config.toml:20:8: `cluade` is not possible here
      | kind = "cluade"
      |        ^^^^^^^^
      Did you mean `claude`? Possible: claude, shell, demo.

    config.toml:23:12: `2 days` is no deadline
      | deadline = "2 days"
      |            ^^^^^^^^
      Write 15m, 2h or 1h30m; at least 1m and at most 23h, since agents give up after a day.

    config.toml:26:9: `64` is no size
      | limit = "64"
      |         ^^^^
      Write a number and KiB, MiB or GiB, such as 64 MiB.

    config.toml:29:12: `PD-` is no story prefix
      | stories = ["PD-"]
      |            ^^^^^
      Write the letters before the dash, 2 to 10 of them: `PD` for PD-285.

    config.toml:30:14: `de` is not possible here
      | languages = ["de"]
      |              ^^^^
      Possible: en, fr.
    "#);
}

#[test]
fn one_table_where_a_list_belongs_is_explained() {
    insta::assert_snapshot!(explain("[human]\nid = \"ines\"\n"), @r"
    config.toml:1:1: [[human]] is a list of tables
      | [human]
      | ^^^^^^^
      Write [[human]], with two brackets: there can be several.
    ");
}

#[test]
fn nobody_is_locked_out() {
    insta::assert_snapshot!(explain("[[human]]\nid = \"ines\"\nrole = \"approver\"\n"), @r#"
    config.toml:1:1: no [[human]] is an owner
      | [[human]]
      | ^^^^^^^^^
      Give one of them `role = "owner"`.
    "#);
}

#[test]
fn columns_count_characters_not_bytes() {
    let text = "[[human]]\nid = \"ines\"\nname = \"Inès\"\nrole = \"owner\"\n[recording]\nlimit = \"64 Mé\"\n";
    let error = Config::parse(text, &around()).unwrap_err();
    assert_eq!((error.problems[0].line, error.problems[0].column), (6, 9));
    assert!(error.to_string().contains("        ^^^^^^^\n"), "{error}");
}

#[cfg(feature = "telegram")]
#[test]
fn telegram_is_switched_on_and_told_its_ways() {
    use vigie::config::{LongAnswers, Strangers};
    let config = read(
        r#"
        [[human]]
        id = "ines"
        role = "owner"
        telegram = 1001

        [telegram]
        enabled = true
        token_file = "~/keys/bot"
        api = "http://127.0.0.1:8081/"
        long_answers = "document"

        [access]
        strangers = "ignore"
        "#,
    );
    assert_eq!(config.humans[0].telegram, Some(1001));
    assert_eq!(config.telegram.enabled, OnOff::On);
    assert_eq!(config.telegram.token_file, PathBuf::from("/home/ines/keys/bot"));
    assert_eq!(config.telegram.api, "http://127.0.0.1:8081");
    assert_eq!(config.telegram.long_answers, LongAnswers::Document);
    assert_eq!(config.access.strangers, Strangers::Ignored);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[cfg(feature = "telegram")]
#[test]
fn a_token_that_would_travel_in_the_clear_is_worth_a_word() {
    let config = read("[telegram]\nenabled = true\napi = \"http://bots.example.org\"\n");
    assert!(config.warnings[0].contains("without encryption"), "{:?}", config.warnings);
}

#[cfg(not(feature = "telegram"))]
#[test]
fn telegram_is_refused_by_a_program_that_was_built_without_it() {
    insta::assert_snapshot!(explain("[telegram]\nenabled = true\n"), @r"
    config.toml:2:11: this Vigie was built without Telegram
      | enabled = true
      |           ^^^^
      Build it with `cargo install --path . --features telegram`, or set `enabled = false`.
    ");
    read("[telegram]\nenabled = false\n");
}

#[cfg(feature = "matrix")]
#[test]
fn matrix_is_switched_on_and_told_its_ways() {
    use vigie::config::{Layout, LongAnswers, Matrix, Reactions, Unsafe};
    let config = read(
        r#"
        [[human]]
        id = "ines"
        role = "owner"
        matrix = "@Ines:Example.org"

        [matrix]
        enabled = true
        layout = "space"
        unsigned_devices = "accept"
        unencrypted = "accept"
        plain_rooms = "accept"
        reactions = "answer"
        new_identities = "accept"
        events_a_minute = 600
        polls = true
        quick_reactions = false
        long_answers = "document"
        "#,
    );
    assert_eq!(config.humans[0].matrix.as_deref(), Some("@Ines:example.org"));
    let expected = Matrix {
        enabled: OnOff::On,
        layout: Layout::Space,
        unsigned_devices: Unsafe::Accept,
        unencrypted: Unsafe::Accept,
        plain_rooms: Unsafe::Accept,
        reactions: Reactions::Answer,
        new_identities: Unsafe::Accept,
        events_a_minute: 600.try_into().unwrap(),
        polls: OnOff::On,
        quick_reactions: OnOff::Off,
        long_answers: LongAnswers::Document,
    };
    assert_eq!(config.matrix, expected);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[cfg(not(feature = "matrix"))]
#[test]
fn matrix_is_refused_by_a_program_that_was_built_without_it() {
    insta::assert_snapshot!(explain("[matrix]\nenabled = true\n"), @r"
    config.toml:2:11: this Vigie was built without Matrix
      | enabled = true
      |           ^^^^
      Build it with `cargo install --path . --features matrix`, or set `enabled = false`.
    ");
    read("[matrix]\nenabled = false\nlayout = \"space\"\n");
}

#[test]
fn what_is_set_wrong_for_matrix_is_said() {
    let text = r#"
[[human]]
id = "ines"
role = "owner"
matrix = "@ines:example.org"

[[human]]
id = "tomas"
matrix = "@ines:Example.org"

[[human]]
id = "lena"
matrix = "lena"

[matrix]
layout = "thread"
unsigned_devices = "allow"
reactions = "yes"
events_a_minute = 0
recovery_key = "none of this"
"#;
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:9:10: @ines:example.org is there twice
      | matrix = "@ines:Example.org"
      |          ^^^^^^^^^^^^^^^^^^^

    config.toml:13:10: `lena` is no user id on Matrix
      | matrix = "lena"
      |          ^^^^^^
      Write the whole of it, as the person's own client shows it: @ines:example.org.

    config.toml:16:10: `thread` is not possible here
      | layout = "thread"
      |          ^^^^^^^^
      Did you mean `threads`? Possible: threads, direct, space.

    config.toml:17:20: `allow` is not possible here
      | unsigned_devices = "allow"
      |                    ^^^^^^^
      Possible: refuse, accept.

    config.toml:18:13: `yes` is not possible here
      | reactions = "yes"
      |             ^^^^^
      Possible: answer, deny, ignore.

    config.toml:19:19: 0 is not possible here
      | events_a_minute = 0
      |                   ^
      A whole number from 1 to 6000: what the homeserver lets this account send.

    config.toml:20:1: [matrix] has no key `recovery_key`
      | recovery_key = "none of this"
      | ^^^^^^^^^^^^
      Keys: enabled, layout, unsigned_devices, unencrypted, plain_rooms, reactions, new_identities, events_a_minute, polls, quick_reactions, long_answers.
    "#);
}

#[test]
fn what_is_set_wrong_for_telegram_is_said() {
    let text = r#"
[[human]]
id = "ines"
role = "owner"
telegram = 1001

[[human]]
id = "tomas"
telegram = 1001

[[human]]
id = "lena"
telegram = -1001234567890

[telegram]
token_file = "telegram.token"
api = "https://api.telegram.org/bot123456:TEST-TOKEN"
long_answers = "doc"
token = "123456:TEST-TOKEN"

[access]
strangers = "shout"
"#;
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:9:12: 1001 is there twice
      | telegram = 1001
      |            ^^^^

    config.toml:13:12: -1001234567890 is nobody's number on Telegram
      | telegram = -1001234567890
      |            ^^^^^^^^^^^^^^
      It is a person's own number, above zero. `vigie pair` needs none.

    config.toml:16:14: `telegram.token` is not absolute
      | token_file = "telegram.token"
      |              ^^^^^^^^^^^^^^^^
      Write an absolute path, or one that begins with `~/`.

    config.toml:17:7: `https://api.telegram.org/bot123456:**********` is no address of a Bot API
      | api = "https://api.telegram.org/bot123456:**********"
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Write https:// and the host of your Bot API server, without `/bot` and the token: https://api.telegram.org.

    config.toml:18:16: `doc` is not possible here
      | long_answers = "doc"
      |                ^^^^^
      Possible: parts, document.

    config.toml:19:1: [telegram] has no key `token`
      | token = "123456:**********"
      | ^^^^^
      Keys: enabled, token_file, api, long_answers.

    config.toml:22:13: `shout` is not possible here
      | strangers = "shout"
      |             ^^^^^^^
      Possible: answer, ignore.
    "#);
}

#[test]
fn how_far_agents_go_is_read() {
    let config = read(
        r#"
        [bounds]
        depth = 0
        children = 3
        live = 8
        starts_a_minute = 4
        tree_usd = 1
        tree_tokens = 3_000_000
        start_tokens = 500_000
        max_load = 2.5
        min_free_memory = "2 GiB"
        "#,
    );
    let expected = Bounds {
        depth: 0,
        children: 3,
        live: 8,
        starts_a_minute: 4,
        tree_micro_usd: 1_000_000,
        tree_tokens: 3_000_000,
        start_micro_usd: 1_000_000,
        start_tokens: 500_000,
        load_permille: 2500,
        free_mib: 2048,
    };
    assert_eq!(config.bounds, expected, "a start sets aside no more than its tree may use");
    assert_eq!(read("[bounds]\ntree_usd = 0.29\n").bounds.tree_micro_usd, 290_000);
}

#[test]
fn a_bound_that_bounds_nothing_is_said() {
    let text = r#"
[bounds]
depth = 17
children = 0
live = -1
starts_a_minute = 1001
tree_usd = inf
tree_tokens = 2_000
start_usd = 0.001
start_tokens = 2_001
max_load = nan
min_free_memory = "512 KiB"
start = 2
"#;
    insta::assert_snapshot!(explain(text), @r#"
    config.toml:3:9: 17 is not possible here
      | depth = 17
      |         ^^
      A whole number from 0, with which agents start nothing, to 16.

    config.toml:4:12: 0 is not possible here
      | children = 0
      |            ^
      A whole number from 1 to 100; with `depth = 0` agents start nothing.

    config.toml:5:8: -1 is not possible here
      | live = -1
      |        ^^
      A whole number from 1 to 1000.

    config.toml:6:19: 1001 is not possible here
      | starts_a_minute = 1001
      |                   ^^^^
      A whole number from 1 to 1000.

    config.toml:7:12: inf is not possible here
      | tree_usd = inf
      |            ^^^
      Dollars at list price, from 0.01 to 1000000, such as 2 or 0.5.

    config.toml:9:13: 0.001 is not possible here
      | start_usd = 0.001
      |             ^^^^^
      Dollars at list price, from 0.01 to 1000000, such as 2 or 0.5.

    config.toml:10:16: one start would set aside more than its whole tree may use
      | start_tokens = 2_001
      |                ^^^^^
      Make `start_tokens` smaller, or `tree_tokens` larger.

    config.toml:11:12: NaN is not possible here
      | max_load = nan
      |            ^^^
      The load of one core, from 0.1 to 1000, such as 4.0.

    config.toml:12:19: `512 KiB` is no size for memory
      | min_free_memory = "512 KiB"
      |                   ^^^^^^^^^
      Write a number and MiB or GiB, such as 512 MiB; at most 1024 GiB.

    config.toml:13:1: [bounds] has no key `start`
      | start = 2
      | ^^^^^
      Keys: depth, children, live, starts_a_minute, tree_usd, tree_tokens, start_usd, start_tokens, max_load, min_free_memory.
    "#);
}

#[test]
fn a_lord_is_there_when_it_is_switched_on() {
    let projects = "[[project]]\nname = \"quay\"\npath = \"/srv/quay\"\nagent = \"demo\"\n\n[[project]]\nname = \"mole\"\npath = \"/srv/mole\"\nagent = \"shell\"\n";
    let lord = |table: &str| read(&format!("{table}\n{projects}")).lord;
    let made = |name: &str, project: &str, agent: &str| Lord {
        name: name.parse().unwrap(),
        project: ProjectName::new(project),
        agent: AgentName::new(agent),
    };
    assert_eq!(lord("[lord]\nenabled = true\n"), Some(made("lord", "quay", "demo")));
    let whole =
        "[lord]\nenabled = true\nname = \"bailli\"\nproject = \"mole\"\nagent = \"claude\"\n";
    assert_eq!(lord(whole), Some(made("bailli", "mole", "claude")), "before its project is read");
    assert_eq!(lord("[lord]\nproject = \"mole\"\n"), None);
}

#[test]
fn a_lord_that_cannot_be_is_said_and_names_are_checked_while_it_is_off() {
    let explain = |table: &str| {
        explain(&format!(
            "{table}\n[[project]]\nname = \"quay\"\npath = \"/srv/quay\"\nagent = \"shell\"\n"
        ))
    };
    insta::assert_snapshot!(explain("[lord]\nname = \"the lord\"\nproject = \"quai\"\nagent = \"dmeo\"\n"), @r#"
    config.toml:2:8: `the lord` is no name of a session
      | name = "the lord"
      |        ^^^^^^^^^^
      Use letters, digits, `-`, `_` and `.`, at most 40, beginning with a letter or digit; not `all`.

    config.toml:3:11: no project is called `quai`
      | project = "quai"
      |           ^^^^^^
      Did you mean `quay`? Projects: quay.

    config.toml:4:9: no agent is called `dmeo`
      | agent = "dmeo"
      |         ^^^^^^
      Did you mean `demo`? Agents: demo, shell.
    "#);
    insta::assert_snapshot!(explain("[lord]\nenabled = true\n"), @r"
    config.toml:1:1: `shell` runs whatever is typed into it, so it takes no messages
      | [lord]
      | ^^^^^^
      Set `agent` to one of: demo.
    ");
    insta::assert_snapshot!(explain("[lord]\nenabled = true\nagent = \"shell\"\n"), @r#"
    config.toml:3:9: `shell` runs whatever is typed into it, so it takes no messages
      | agent = "shell"
      |         ^^^^^^^
      Set `agent` to one of: demo.
    "#);
}

#[test]
fn secrets_have_one_place_and_say_who_may_use_them() {
    let config = read(
        r#"
        [[secret]]
        name = "DEPLOY_TOKEN"
        file = "~/.config/deploy-token"
        workflows = ["release", "quay/release"]

        [[secret]]
        name = "MAIL"
        keyring = { service = "mail", account = "ines" }
        "#,
    );
    assert_eq!(config.secrets[0].from, SecretFrom::File("/home/ines/.config/deploy-token".into()));
    assert_eq!(config.secrets[0].workflows, ["release", "quay/release"]);
    let keyring = SecretFrom::Keyring { service: "mail".into(), account: "ines".into() };
    assert_eq!(config.secrets[1].from, keyring);
    assert!(config.secrets[1].workflows.is_empty());
    insta::assert_snapshot!(explain(
        "[[secret]]\nname = \"A\"\n\n[[secret]]\nname = \"A\"\nenv = \"A\"\ncommand = [\"a\"]\n\n[[secret]]\nname = \"é\"\nenv = \"A\"\n"
    ), @r#"
    config.toml:1:1: [[secret]] A: nothing says where its value is
      | [[secret]]
      | ^^^^^^^^^^
      Write one of `env`, `file`, `command` and `keyring`.

    config.toml:4:1: [[secret]] A: its value is in more than one place
      | [[secret]]
      | ^^^^^^^^^^
      Write one of `env`, `file`, `command` and `keyring`.

    config.toml:5:8: `A` is there twice
      | name = "A"
      |        ^^^

    config.toml:10:8: `é` is no name of a secret
      | name = "é"
      |        ^^^
      Use letters, digits, `_` and `-`, a letter first, such as DEPLOY_TOKEN.
    "#);
}

#[test]
fn only_projects_that_are_there_are_armed_and_bounds_of_steps_are_numbers() {
    let config = read(
        "[[project]]\nname = \"quay\"\npath = \"/srv/quay\"\n\n[workflows]\ntriggers = [\"quay\"]\nhost_steps = 4\n",
    );
    assert_eq!(config.workflows.triggers, [ProjectName::new("quay")]);
    assert_eq!(config.workflows.rules, WorkflowRules { host_steps: 4, ..WorkflowRules::default() });
    insta::assert_snapshot!(explain("[workflows]\ntriggers = [\"dem\"]\nopen_runs = 0\n"), @r#"
    config.toml:2:13: no project is called `dem`
      | triggers = ["dem"]
      |             ^^^^^
      Did you mean `demo`? Projects: demo.

    config.toml:3:13: 0 is not possible here
      | open_runs = 0
      |             ^
      A whole number from 1 to 10000.
    "#);
}

#[test]
fn what_rings_is_read() {
    let config = read(
        r#"
        [[human]]
        id = "ines"
        role = "owner"
        timezone = "Europe/Paris"
        quiet = ["22:00-07:00"]
        digest = "08:00"

        [ringing]
        done = "digest"
        failure = "ring"
        urgent = ["approval", "project/quay", "PD-*"]
        remind = "off"
        order = ["ines"]
        desk_delay = "off"
        stuck_after = "20m"
        "#,
    );
    let hours = config.humans[0].hours.clone().unwrap();
    assert_eq!(hours.digest, DigestTime::At("08:00:00".parse().unwrap()));
    let night = hours.quiet_until("2026-11-30T21:00:00Z".parse().unwrap());
    assert_eq!(night, Some("2026-12-01T06:00:00Z".parse().unwrap()));
    let ringing = config.ringing;
    assert_eq!(ringing.loudness(Kind::Done), Loudness::Digest);
    assert_eq!(ringing.loudness(Kind::Failure), Loudness::Ring);
    assert_eq!(ringing.urgent.len(), 3);
    assert_eq!((ringing.remind, ringing.reminders), (None, 3));
    assert_eq!(ringing.desk_delay, TimeDelta::zero());
    assert_eq!(ringing.stuck_after, Some(TimeDelta::minutes(20)));
}

#[test]
fn what_rings_wrongly_is_said() {
    for (text, words) in [
        ("[ringing]\ndone = \"loud\"", "`loud` is not possible here"),
        ("[ringing]\nwords = \"ring\"", "`words` never rings"),
        ("[ringing]\nurgent = [\"*\"]", "`*` is nothing that can be urgent"),
        ("[ringing]\nremind = \"5\"", "`5` is no time"),
        ("[ringing]\nreminders = 99", "99 is no number of reminders"),
        ("[ringing]\norder = [\"nobody\"]", "nobody is called `nobody`"),
        ("[ringing]\nstuck_after = \"5s\"", "at least 60 s"),
        (
            "[[human]]\nid = \"a\"\nrole = \"owner\"\nquiet = [\"22:00-07:00\"]",
            "times of a person need their `timezone`",
        ),
        (
            "[[human]]\nid = \"a\"\nrole = \"owner\"\ntimezone = \"Europe/Pairs\"",
            "did you mean `Europe/Paris`?",
        ),
        (
            "[[human]]\nid = \"a\"\nrole = \"owner\"\ntimezone = \"UTC\"\nquiet = [\"22-7\"]",
            "`22-7` is no time of the day",
        ),
    ] {
        let said = explain(text);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn policies_are_read_in_their_order_and_know_their_lines() {
    let text = r#"
[[policy]]
effect = "deny"
path = ["~/.ssh/**"]

[[policy]]
name = "checks"
effect = "allow"
command = ["cargo test *"]
project = ["demo"]
hours = "09:00-18:00"
days = ["mon-fri"]
zone = "Europe/Paris"
"#;
    let policies = read(text).policies;
    let named: Vec<String> = policies.iter().map(ToString::to_string).collect();
    assert_eq!(named, ["policy of line 2", "policy `checks` (line 6)"]);
    assert_eq!(policies[0].paths[0].to_string(), "/home/ines/.ssh/**");
    let hours = policies[1].hours.as_ref().unwrap().to_string();
    assert_eq!(hours, "09:00-18:00 Mon Tue Wed Thu Fri Europe/Paris");
}

#[test]
fn a_policy_that_would_not_do_what_it_seems_to_say_is_refused() {
    for (policy, words) in [
        ("command = [\"ls\"]", "[[policy]] needs `effect`"),
        ("effect = \"alow\"", "Did you mean `allow`?"),
        ("effect = \"deny\"\ncomand = [\"ls\"]", "Did you mean `command`?"),
        ("effect = \"allow\"", "this allow says not what it allows"),
        ("effect = \"allow\"\ncommand = [\"* test\"]", "leaves open what is run"),
        ("effect = \"allow\"\ncommand = [\"sudo ls\"]", "would never fit"),
        ("effect = \"allow\"\ncommand = [\"env *\"]", "would never fit"),
        ("effect = \"allow\"\ncommand = [\"read *\"]", "it changes the shell"),
        ("effect = \"allow\"\ncommand = [\"let *\"]", "is always asked about: leave it out"),
        ("effect = \"deny\"\ncommand = []", "`command` names nothing"),
        ("effect = \"deny\"\npath = []", "leave `path` out"),
        ("effect = \"deny\"\ntool = []", "`tool` names nothing"),
        ("effect = \"deny\"\nproject = []", "`project` names nothing"),
        ("effect = \"deny\"\nsession = []", "`session` names nothing"),
        ("effect = \"deny\"\ndays = []", "`days` names nothing"),
        ("effect = \"deny\"\ncommand = [\"ls | sort\"]", "is more than one simple command"),
        ("effect = \"deny\"\ncommand = [\"ls $X\"]", "holds a `$`"),
        ("effect = \"deny\"\ncommand = [\"\"]", "names no command"),
        ("effect = \"deny\"\npath = [\"../x\"]", "`../x` names no files"),
        ("effect = \"deny\"\nproject = [\"dem\"]", "Did you mean `demo`?"),
        ("effect = \"deny\"\nhours = \"9-18\"", "`9-18` is no span of time"),
        ("effect = \"deny\"\nhours = \"09:00-18:00\"\nzone = \"Paris\"", "no time zone"),
        ("effect = \"deny\"\nzone = \"UTC\"", "says nothing by itself"),
        ("effect = \"deny\"\ndays = [\"today\"]", "`today` is no day"),
        ("effect = \"deny\"\ntool = [\"Write\"]\ncommand = [\"ls\"]", "this never fits"),
        ("effect = \"deny\"\ncommand = [\"ls\"]\ncatastrophic = true", "stands with an allow"),
        ("effect = \"allow\"\ntool = [\"*\"]\ncatastrophic = true", "stands with an allow"),
        ("effect = \"ask_two\"", "two people would have to, and 1 may"),
    ] {
        let said = explain(&format!("[[policy]]\n{policy}\n"));
        assert!(said.contains(words), "{policy}\n{said}");
    }
    let wide = read("[[policy]]\neffect = \"allow\"\ntool = [\"Bash\"]\n");
    assert!(wide.warnings[0].contains("allows every command"), "{:?}", wide.warnings);
}
