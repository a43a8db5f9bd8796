//! What a person reads: mistakes as they are made, word for word.

use super::*;

#[test]
fn keys_that_are_none() {
    insta::assert_snapshot!(told("name: typo
steps:
  - id: a
    comand: \"echo never runs\"
    need: [b]
    env:
      needs: [b]
  - id: b
    shell: \"true\"
    timeout_sec: 5
    cron: \"* * * * *\"
    banana: 1
"), @r#"
        f:3:9: error: this step does nothing
         3 |   - id: a
           |         ^
           hint: give it one of: shell, claude, http, javascript, sleep, condition, approval, workflow, foreach
        f:4:5: error: unknown key `comand`
         4 |     comand: "echo never runs"
           |     ^^^^^^
           hint: did you mean `shell`?
        f:5:5: error: unknown key `need`
         5 |     need: [b]
           |     ^^^^
           hint: did you mean `needs`?
        f:7:14: error: the value of `needs` is text, not a list
         7 |       needs: [b]
           |              ^^^
        f:10:5: error: unknown key `timeout_sec`
         10 |     timeout_sec: 5
            |     ^^^^^^^^^^^
           hint: did you mean `timeout`?
        f:11:5: error: unknown key `cron`
         11 |     cron: "* * * * *"
            |     ^^^^
           hint: `cron` is a key of `on`, not of a step
        f:12:5: error: unknown key `banana`
         12 |     banana: 1
            |     ^^^^^^
           hint: keys of a step: id, title, needs, if, always, continue_on_error, env, project, cwd, in_session, timeout, retry, on_crash, output, files, output_cut, expect, shell, claude, http, javascript, sleep, condition, approval, workflow, foreach
        "#);
}

#[test]
fn a_key_given_twice() {
    insta::assert_snapshot!(told("name: dupkey
steps:
  - id: a
    timeout: 5s
    shell: \"sleep 60\"
    timeout: 10m
"), @r"
        f:6:5: error: duplicate key `timeout` at lines 4 and 6
         6 |     timeout: 10m
           |     ^^^^^^^
           hint: keep one of them
        ");
}

#[test]
fn ids_that_are_the_same_or_look_it() {
    insta::assert_snapshot!(told("name: dup
steps:
  - {id: review, shell: \"echo one\"}
  - {id: review, shell: \"echo two\"}
  - {id: Review, shell: \"echo three\"}
"), @r#"
        f:4:10: error: duplicate id `review` at lines 3 and 4
         4 |   - {id: review, shell: "echo two"}
           |          ^^^^^^
           hint: call one of them otherwise
        f:5:10: error: the ids `review` (line 3) and `Review` (line 5) differ only by case
         5 |   - {id: Review, shell: "echo three"}
           |          ^^^^^^
           hint: call one of them otherwise
        "#);
}

#[test]
fn ids_that_are_none() {
    let told = told(
        "name: unicode
steps:
  - {id: \"étape\", shell: \"true\"}
  - {id: \"e\u{301}tape\", shell: \"true\"}
  - {id: \"\u{202e}gnp.a\", shell: \"true\"}
  - {id: \"../../outside\", shell: \"true\"}
  - {id: \"con\u{200b}firm\", shell: \"true\"}
  - {id: \"deploy prod; rm -rf x\", shell: \"true\"}
  - {id: 1st, shell: \"true\"}
  - {id: \"\", shell: \"true\"}
  - {id: [a], shell: \"true\"}
  - {shell: \"true\"}
",
    );
    insta::assert_snapshot!(told.replace('\u{301}', "<U+0301>"), @r#"
        f:3:10: error: `étape` is no id of a step: `\u{e9}` (U+00E9) cannot stand in it; letters, digits, `_` and `-` can
         3 |   - {id: "étape", shell: "true"}
           |          ^^^^^^^
        f:4:10: error: `e<U+0301>tape` is no id of a step: `\u{301}` (U+0301) cannot stand in it; letters, digits, `_` and `-` can
         4 |   - {id: "e<U+0301>tape", shell: "true"}
           |          ^^^^^^^^
        f:5:10: error: `\u{202e}gnp.a` is no id of a step: `\u{202e}` (U+202E) cannot stand in it; letters, digits, `_` and `-` can
         5 |   - {id: "�gnp.a", shell: "true"}
           |          ^^^^^^^^
        f:6:10: error: `../../outside` is no id of a step: `.` (U+002E) cannot stand in it; letters, digits, `_` and `-` can
         6 |   - {id: "../../outside", shell: "true"}
           |          ^^^^^^^^^^^^^^^
        f:7:10: error: `con\u{200b}firm` is no id of a step: `\u{200b}` (U+200B) cannot stand in it; letters, digits, `_` and `-` can
         7 |   - {id: "con�firm", shell: "true"}
           |          ^^^^^^^^^^
        f:8:10: error: `deploy prod; rm -rf x` is no id of a step: ` ` (U+0020) cannot stand in it; letters, digits, `_` and `-` can
         8 |   - {id: "deploy prod; rm -rf x", shell: "true"}
           |          ^^^^^^^^^^^^^^^^^^^^^^^
        f:9:10: error: `1st` is no id of a step: it starts with `1`, and a name starts with a letter
         9 |   - {id: 1st, shell: "true"}
           |          ^^^
        f:10:10: error: `` is no id of a step: it is empty
         10 |   - {id: "", shell: "true"}
            |          ^^
        f:11:10: error: `id` is text, not a list
         11 |   - {id: [a], shell: "true"}
            |          ^^^
        f:12:6: error: a step needs the key `id`
         12 |   - {shell: "true"}
            |      ^^^^^
           hint: What other steps call it
        "#);
}

#[test]
fn on_is_a_key_and_yes_is_another() {
    insta::assert_snapshot!(told("name: on-key
on:
  cron: \"0 6 * * 1\"
  webhook: true
yes: stray
steps:
  - id: a
    shell: \"true\"
"), @r"
        f:4:12: error: `webhook` is a map, not `true`
         4 |   webhook: true
           |            ^^^^
           hint: its keys: secret, proof, max_body, params
        f:5:1: error: unknown key `yes`
         5 | yes: stray
           | ^^^
           hint: keys of a workflow: name, title, description, project, params, on, limits, env, secrets, steps, outputs, defaults
        ");
}

#[test]
fn scripts_are_not_filled_in() {
    insta::assert_snapshot!(told(r#"name: inject
secrets: [TOKEN]
steps:
  - id: title
    shell: "printf '%s' '$(touch pwned)'"
  - id: use
    needs: [title]
    shell: 'echo "${steps.title.text}"'
  - id: cond
    needs: [title]
    if: '${steps.title.text} == "ok"'
    shell: "true"
  - id: ask
    needs: [title]
    claude: "Summarise: ${steps.title.text}"
  - id: braces
    needs: [title]
    shell: |
      docker ps --format '{{.Names}} {{json .}}'
      echo {{ steps.title.text }} {{- params.x -}} {{secrets.TOKEN}}
      echo "${run}" "${item%.*}" "${env[1]}" {{ .Env }}
  - id: each
    foreach:
      in: [a]
      as: file
      steps:
        - {id: show, shell: "echo {{ file }} {{ item }} ${file} {{ index }}"}
  - id: check
    shell: "true"
    expect: {run: "test {{ output.text }}"}
  - id: code
    javascript: "return '{{ steps.title.text }}'"
"#), @r#"
        f:8:19: error: nothing is filled into a script: what is filled in could be run
         8 |     shell: 'echo "${steps.title.text}"'
           |                   ^^^^^^^^^^^^^^^^^^^
           hint: pass it by `env: {TITLE: '{{ steps.title.text }}'}` and write "$TITLE" in the script
        f:11:9: error: this is an expression already
         11 |     if: '${steps.title.text} == "ok"'
            |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
           hint: it stands here without braces, such as `steps.review.json.ok`
        f:15:25: error: `${steps.title.text}` is not filled in
         15 |     claude: "Summarise: ${steps.title.text}"
            |                         ^^^^^^^^^^^^^^^^^^^
           hint: write `{{ steps.title.text }}`; a step gives `text`, `json`, …
        f:20:12: error: nothing is filled into a script: what is filled in could be run
         20 |       echo {{ steps.title.text }} {{- params.x -}} {{secrets.TOKEN}}
            |            ^^^^^^^^^^^^^^^^^^^^^^
           hint: pass it by `env: {TITLE: '{{ steps.title.text }}'}` and write "$TITLE" in the script
        f:20:35: error: nothing is filled into a script: what is filled in could be run
         20 |       echo {{ steps.title.text }} {{- params.x -}} {{secrets.TOKEN}}
            |                                   ^^^^^^^^^^^^^^^^
           hint: pass it by `env: {X: '{{ params.x }}'}` and write "$X" in the script
        f:20:52: error: nothing is filled into a script: what is filled in could be run
         20 |       echo {{ steps.title.text }} {{- params.x -}} {{secrets.TOKEN}}
            |                                                    ^^^^^^^^^^^^^^^^^
           hint: pass it by `env: {TOKEN: '{{ secrets.TOKEN }}'}` and write "$TOKEN" in the script
        f:27:35: error: nothing is filled into a script: what is filled in could be run
         27 |         - {id: show, shell: "echo {{ file }} {{ item }} ${file} {{ index }}"}
            |                                   ^^^^^^^^^^
           hint: pass it by `env: {FILE: '{{ file }}'}` and write "$FILE" in the script
        f:27:46: error: nothing is filled into a script: what is filled in could be run
         27 |         - {id: show, shell: "echo {{ file }} {{ item }} ${file} {{ index }}"}
            |                                              ^^^^^^^^^^
           hint: pass it by `env: {ITEM: '{{ item }}'}` and write "$ITEM" in the script
        f:27:65: error: nothing is filled into a script: what is filled in could be run
         27 |         - {id: show, shell: "echo {{ file }} {{ item }} ${file} {{ index }}"}
            |                                                                 ^^^^^^^^^^^
           hint: pass it by `env: {INDEX: '{{ index }}'}` and write "$INDEX" in the script
        f:30:25: error: nothing is filled into a script: what is filled in could be run
         30 |     expect: {run: "test {{ output.text }}"}
            |                         ^^^^^^^^^^^^^^^^^
           hint: pass it by `env: {TEXT: '{{ output.text }}'}` and write "$TEXT" in the script
        f:32:26: error: nothing is filled into code
         32 |     javascript: "return '{{ steps.title.text }}'"
            |                          ^^^^^^^^^^^^^^^^^^^^^^
           hint: pass it by `input: {title: 'steps.title.text'}` and read `input.title`
        "#);
}

#[test]
fn values_that_do_not_fit() {
    insta::assert_snapshot!(told(
        r#"name: values
params:
  target: {enum: [staging, prod], default: prd}
  count: {type: integer, minimum: 5, maximum: 1, default: no}
  flag: {type: bool, default: yes}
  id: {type: json, default: 0777}
on: {cron: ["60 * * * *", "0 0 30 2 *", "@every 0s"], timezone: Europe/Belrin, catch_up: newest}
limits: {cost_usd: $5, timeout: 10, concurrency: 0, overlap: queued, parallel: many}
env: {1ST: a, VIGIE_X: b, OK: [c]}
secrets: TOKEN
steps:
  - id: a
    shell: ""
    timeout: 0s
    retry: 101
    always: yes
    on_crash: again
    output: jsn
  - id: b
    http: {url: ftp://x, method: get, body: x, expect: 99, headers: {"a b": c}, redirects: -1}
  - id: c
    sleep: soon
  - id: d
    sleep: {until: "25:00"}
  - id: e
    javascript: {code: "return 1", memory: 64MB}
  - id: f
    approval: {ask: "?", count: 0, on_timeout: approve, form: [{id: x}, {id: x}]}
  - id: g
    claude: {prompt: x, schema: broken.json, session: s, max_turns: 0}
  - id: h
    claude: {prompt: x, schema: ../secret.json}
  - id: i
    claude: {prompt: x, schema: nothing.json}
  - id: j
    workflow: ../x
  - id: k
    foreach: {in: [a], as: run, steps: []}
  - id: l
    shell: "true"
    http: {url: "https://x"}
  - id: m
    condition: "true"
    env: {A: b}
    timeout: 5s
  - id: n
"#
    ));
}

#[test]
fn a_trigger_that_cannot_say_what_a_param_needs() {
    insta::assert_snapshot!(told(r#"name: t
params: {target: {}, who: {}}
on:
  cron: "@daily"
  webhook: {secret: HOOK, params: {target: body.target, wo: headers.x, who: steps.a}}
steps:
  - {id: a, shell: "true", env: {A: "{{ params }}"}}
"#), @r#"
        f:4:9: error: the param `target` has no default, and cron gives none
         4 |   cron: "@daily"
           |         ^^^^^^^^
           hint: give `target` a default
        f:4:9: error: the param `who` has no default, and cron gives none
         4 |   cron: "@daily"
           |         ^^^^^^^^
           hint: give `who` a default
        f:5:57: error: there is no param `wo`
         5 |   webhook: {secret: HOOK, params: {target: body.target, wo: headers.x, who: steps.a}}
           |                                                         ^^
           hint: did you mean `who`?
        f:5:77: error: `steps` cannot be read here
         5 |   webhook: {secret: HOOK, params: {target: body.target, wo: headers.x, who: steps.a}}
           |                                                                             ^^^^^^^
           hint: there are: body, headers
        "#);
}

#[test]
fn warnings_are_few_and_it_runs() {
    let text = r#"name: w
params: {unused: {default: a}, used: {default: b}}
secrets: [OLD]
on: {cron: ["*/33 * * * *", "0 0 13 * 5"]}
steps:
  - {id: a, if: params.used == "c", shell: "true"}
  - {id: b, needs: [a], claude: "Say {{ steps.a.text }}"}
  - {id: c, needs: [a], claude: "Say {{ steps.a.text or 'nothing' }}"}
"#;
    let (workflow, problems) = check(text.as_bytes());
    assert!(workflow.is_some());
    insta::assert_snapshot!(problems.render("w.yaml", text), @r#"
        w.yaml:2:10: warning: nothing reads the param `unused`
         2 | params: {unused: {default: a}, used: {default: b}}
           |          ^^^^^^
        w.yaml:3:11: warning: nothing uses the secret `OLD`
         3 | secrets: [OLD]
           |           ^^^
           hint: take it out of `secrets`, so that no step can
        w.yaml:4:13: warning: `*/33` is not every 33 minutes: it begins anew with each hour
         4 | on: {cron: ["*/33 * * * *", "0 0 13 * 5"]}
           |             ^^^^^^^^^^^^^^
           hint: a step that divides 60 is even
        w.yaml:4:29: warning: `13` and `5`: it runs on either of these days
         4 | on: {cron: ["*/33 * * * *", "0 0 13 * 5"]}
           |                             ^^^^^^^^^^^^
           hint: as cron does: one of the two should be `*` unless that is meant
        w.yaml:7:41: warning: `a` may be left out by its `if`, and then `steps.a.text` is nothing
         7 |   - {id: b, needs: [a], claude: "Say {{ steps.a.text }}"}
           |                                         ^^^^^^^^^^^^
           hint: `steps.a.text or "…"` says what then
        "#);
}

#[test]
fn an_approval_that_nobody_need_give_is_warned_of() {
    let text = r"name: w
steps:
  - {id: a, approval: {ask: Go?, not_starter: true, timeout: 1h, on_timeout: approve}}
";
    let (workflow, problems) = check(text.as_bytes());
    assert!(workflow.is_some());
    insta::assert_snapshot!(problems.render("w.yaml", text), @r"
        w.yaml:3:66: warning: once `timeout` is over it is approved by nobody, and `not_starter` asks for somebody
         3 |   - {id: a, approval: {ask: Go?, not_starter: true, timeout: 1h, on_timeout: approve}}
           |                                                                  ^^^^^^^^^^
           hint: `on_timeout: deny` waits for somebody else
        ");
}

#[test]
fn where_nothing_is_filled_in_it_is_said() {
    insta::assert_snapshot!(told(r#"name: t
title: "Deploy {{ params.x }}"
description: "Write {{ params.x }} to read x."
params: {x: {default: a}}
steps:
  - {id: a, claude: {prompt: x, model: "{{ params.x }}", tools: ["Bash({{ params.x }})", "Bash(docker ps {{.Names}})"]}}
  - {id: b, approval: {ask: "?", by: ["{{ params.x }}"]}}
  - {id: c, http: {url: "https://x", method: POST, json: {"{{ params.x }}": 1}}}
  - {id: d, shell: {script: x, shell: ["{{ params.x }}", -c]}}
  - {id: e, shell: x, cwd: /etc, files: {a: ../b, c: "~/x", d: a/../b, e: ok..txt}, expect: {unchanged: [/x, "src/**"]}}
  - {id: f, shell: x, env: {A: "\0"}}
"#), @r#"
        f:2:16: error: nothing is filled into `title`
         2 | title: "Deploy {{ params.x }}"
           |                ^^^^^^^^^^^^^^
           hint: write out what it is
        f:6:41: error: nothing is filled into `model`
         6 |   - {id: a, claude: {prompt: x, model: "{{ params.x }}", tools: ["Bash({{ params.x }})", "Bash(docker ps {{.Names}})"]}}
           |                                         ^^^^^^^^^^^^^^
           hint: write out what it is
        f:6:72: error: nothing is filled into `tools`
         6 |   - {id: a, claude: {prompt: x, model: "{{ params.x }}", tools: ["Bash({{ params.x }})", "Bash(docker ps {{.Names}})"]}}
           |                                                                        ^^^^^^^^^^^^^^
           hint: write out what it is
        f:7:40: error: nothing is filled into `by`
         7 |   - {id: b, approval: {ask: "?", by: ["{{ params.x }}"]}}
           |                                        ^^^^^^^^^^^^^^
           hint: write out what it is
        f:8:59: error: nothing is filled into a key
         8 |   - {id: c, http: {url: "https://x", method: POST, json: {"{{ params.x }}": 1}}}
           |                                                           ^^^^^^^^^^^^^^^^
        f:9:41: error: nothing is filled into `shell`
         9 |   - {id: d, shell: {script: x, shell: ["{{ params.x }}", -c]}}
           |                                         ^^^^^^^^^^^^^^
           hint: write out what it is
        f:10:28: error: `/etc` leads out of the project's folder
         10 |   - {id: e, shell: x, cwd: /etc, files: {a: ../b, c: "~/x", d: a/../b, e: ok..txt}, expect: {unchanged: [/x, "src/**"]}}
            |                            ^^^^
           hint: paths are relative to it
        f:10:45: error: `../b` leads out of the project's folder
         10 |   - {id: e, shell: x, cwd: /etc, files: {a: ../b, c: "~/x", d: a/../b, e: ok..txt}, expect: {unchanged: [/x, "src/**"]}}
            |                                             ^^^^
           hint: paths are relative to it
        f:10:54: error: `"~/x"` leads out of the project's folder
         10 |   - {id: e, shell: x, cwd: /etc, files: {a: ../b, c: "~/x", d: a/../b, e: ok..txt}, expect: {unchanged: [/x, "src/**"]}}
            |                                                      ^^^^^
           hint: paths are relative to it
        f:10:64: error: `a/../b` leads out of the project's folder
         10 |   - {id: e, shell: x, cwd: /etc, files: {a: ../b, c: "~/x", d: a/../b, e: ok..txt}, expect: {unchanged: [/x, "src/**"]}}
            |                                                                ^^^^^^
           hint: paths are relative to it
        f:10:106: error: `/x` leads out of the project's folder
         10 |   - {id: e, shell: x, cwd: /etc, files: {a: ../b, c: "~/x", d: a/../b, e: ok..txt}, expect: {unchanged: [/x, "src/**"]}}
            |                                                                                                          ^^
           hint: paths are relative to it
        f:11:32: error: a null character cannot be passed on to any program
         11 |   - {id: f, shell: x, env: {A: "\0"}}
            |                                ^^^^
        "#);
}

#[test]
fn what_yaml_can_do_and_a_workflow_does_not() {
    insta::assert_snapshot!(told("name: !!str t
<<: 1
x-a: &a {k: 1}
x-b: {<<: *a, <<: *a}
x-c: {<<: [*a, 2]}
x-d: *a
steps:
  - {id: a, shell: 'true', <<: {timeout: 5x}}
  - {id: b, shell: 'true', <<: {timeout: 5s}, timeout: 6s}
"), @r"
        f:1:7: error: tags (`!…`) have no meaning in a workflow
         1 | name: !!str t
           |       ^^^^^^^
           hint: leave it out
        f:2:1: error: `<<` takes over a map or a list of maps, not `1`
         2 | <<: 1
           | ^^
        f:4:15: error: duplicate key `<<`, twice in line 4
         4 | x-b: {<<: *a, <<: *a}
           |               ^^
           hint: keep one of them
        f:5:16: error: `<<` takes over maps, and one of these is `2`
         5 | x-c: {<<: [*a, 2]}
           |                ^
        f:8:42: error: `5x` is no duration such as `90s`, `10m`, `1h30m` or `7d`
         8 |   - {id: a, shell: 'true', <<: {timeout: 5x}}
           |                                          ^^
        ");
}

#[test]
fn a_step_that_may_only_read_runs_no_commands() {
    let text = "name: w
steps:
  - id: a
    claude: {prompt: Look., read_only: true, tools: [Read, 'Bash(git diff:*)']}
  - id: b
    claude: {prompt: Look., read_only: true, tools: ['WebFetch(domain:example.org)']}
  - id: c
    claude: {prompt: Do it., tools: ['Bash(git diff:*)']}
";
    insta::assert_snapshot!(told(text), @"
    f:4:53: warning: `Bash(git diff:*)` is never there where a step is `read_only`
     4 |     claude: {prompt: Look., read_only: true, tools: [Read, 'Bash(git diff:*)']}
       |                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^
       hint: leave it out, and give what it would say in the prompt: `{{ steps.ID.text }}`
    ");
}

#[test]
fn yaml_that_reads_otherwise_than_meant() {
    let tab = told("name: tab\nsteps:\n  - id: a\n\tshell: \"true\"\n");
    assert!(tab.starts_with("f:4:1: error: a tab cannot indent\n"), "{tab}");
    let colon = told("name: colon\nsteps:\n  - id: a\n    approval:\n      ask: Deploy: really?\n");
    let hint = "a value with a colon in it has to stand in quotes: ask: \"Deploy: really?\"";
    assert!(colon.contains(hint), "{colon}");
}

#[test]
fn one_equals_sign_compares_nothing() {
    insta::assert_snapshot!(told("name: equals
params: {x: {type: integer}}
steps:
  - id: a
    if: params.x = 1
    shell: \"true\"
    env: {A: \"{{ 'y' if params.x = 1 else '='}}\", B: \"{{ params.x | default(value=1) }}\"}
"), @r#"
        f:5:9: error: unexpected input after expression; `==` compares
         5 |     if: params.x = 1
           |         ^^^^^^^^^^^^
        f:7:18: error: unexpected `=`, expected end of variable block; `==` compares
         7 |     env: {A: "{{ 'y' if params.x = 1 else '='}}", B: "{{ params.x | default(value=1) }}"}
           |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#);
}
