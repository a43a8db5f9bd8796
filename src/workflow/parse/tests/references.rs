//! What templates and expressions may read, and where.

use super::*;

#[test]
fn what_is_read_has_to_be_there() {
    insta::assert_snapshot!(told(
        r#"name: refs
params: {target: {default: a}}
secrets: [TOKEN]
env: {TOP: "{{ params.target }}", SEALED: "{{ secrets.TOKEN }}", EARLY: "{{ steps.a.text }}"}
steps:
  - {id: a, shell: "true", if: "{{ params.target }}"}
  - {id: code-review, needs: [a], claude: "{{ params.traget }} {{ steps.a.txt }} {{ stesp.a }}"}
  - id: b
    needs: [code-review]
    claude: |
      Look at {{ steps.code-review.text }}
      and at {{ steps["code-review"].text }},
      at {{ steps.c.text }}, {{ steps.nothing.text }} {{ steps[params.target] }}
      and {{ secrets.TOKEN }} {{ env.TOP }} {{ env.SEALED }} {{ env.TPO }} {{ run.nubmer }}
  - {id: c, shell: "true", if: params.target == staging}
  - {id: d, shell: "true", env: {A: "{{ secrets.TOKEN }}", B: "{{ secrets.TOKEN | upper }}", C: "{{ secrets.TOKNE }}", D: "{{ secrets }}"}}
  - {id: e, shell: "true", env: {A: "{{ a b }}", B: "{{ a | shuot }}", C: "{% if x %}", D: "{{ x"}}
  - {id: f, shell: "true", expect: {that: [output.exit_code == 0, steps.f.ok, output.nothing]}}
  - {id: g, http: {url: "https://x", extract: {id: response.json.id, text: response.text, no: respnse.x}}}
  - {id: h, needs: [g], claude: "{{ steps.g.id }} {{ steps.g.idd }} {{ response.x }} {{ index }}"}
"#
    ));
}

#[test]
fn a_foreach_sees_what_is_around_it_and_is_seen_as_a_whole() {
    insta::assert_snapshot!(told(r#"name: loops
steps:
  - {id: list, shell: "true", output: json}
  - {id: other, shell: "true"}
  - id: each
    needs: [list]
    foreach:
      in: steps.list.json
      steps:
        - {id: read, claude: "{{ item }} {{ index }} {{ steps.list.text }} {{ steps.other.text }} {{ steps.each.results }}"}
        - {id: sum, needs: [read, list, reed], shell: "true"}
        - id: inner
          foreach:
            in: item.parts
            as: part
            steps:
              - {id: deep, claude: "{{ part }} {{ item }} {{ steps.read.text }}"}
              - {id: list, shell: "true"}
  - {id: after, needs: [each, read], claude: "{{ steps.each.results }} {{ steps.read.text }} {{ item }}"}
"#), @r#"
        f:10:79: error: `each` reads `other` and does not need it
         10 |         - {id: read, claude: "{{ item }} {{ index }} {{ steps.list.text }} {{ steps.other.text }} {{ steps.each.results }}"}
            |                                                                               ^^^^^^^^^^^^^^^^
           hint: add `other` to `needs` of `each`
        f:10:102: error: `each` is not over when this is read
         10 |         - {id: read, claude: "{{ item }} {{ index }} {{ steps.list.text }} {{ steps.other.text }} {{ steps.each.results }}"}
            |                                                                                                      ^^^^^^^^^^^^^^^^^^
        f:11:35: error: there is no step `list` here
         11 |         - {id: sum, needs: [read, list, reed], shell: "true"}
            |                                   ^^^^
           hint: `list` stands outside of this `foreach`, which can need it as a whole
        f:11:41: error: there is no step `reed` here
         11 |         - {id: sum, needs: [read, list, reed], shell: "true"}
            |                                         ^^^^
           hint: did you mean `read`?
        f:17:62: error: `inner` reads `read` and does not need it
         17 |               - {id: deep, claude: "{{ part }} {{ item }} {{ steps.read.text }}"}
            |                                                              ^^^^^^^^^^^^^^^
           hint: add `read` to `needs` of `inner`
        f:18:22: error: `list` is also the id of a step around this `foreach`, at line 3
         18 |               - {id: list, shell: "true"}
            |                      ^^^^
           hint: call one of them otherwise
        f:19:31: error: there is no step `read` here
         19 |   - {id: after, needs: [each, read], claude: "{{ steps.each.results }} {{ steps.read.text }} {{ item }}"}
            |                               ^^^^
           hint: it stands inside of `each`, which can only be needed as a whole
        f:19:75: error: there is no step `read`
         19 |   - {id: after, needs: [each, read], claude: "{{ steps.each.results }} {{ steps.read.text }} {{ item }}"}
            |                                                                           ^^^^^^^^^^^^^^^
           hint: it stands inside of `each`; outside `steps.each.results` has it, a round each
        f:19:97: error: there is nothing called `item` to read
         19 |   - {id: after, needs: [each, read], claude: "{{ steps.each.results }} {{ steps.read.text }} {{ item }}"}
            |                                                                                                 ^^^^
           hint: text stands in quotes: "item"; there are: params, steps, run, env
        "#);
}

#[test]
fn a_foreach_in_a_foreach_ends_somewhere() {
    let mut inner = "[{id: s, shell: 'true'}]".to_owned();
    for (name, id) in [("a", "l1"), ("b", "l2"), ("c", "l3"), ("d", "l4"), ("e", "l5")] {
        inner = format!("[{{id: {id}, foreach: {{in: [1], as: {name}, steps: {inner}}}}}]");
    }
    insta::assert_snapshot!(told(&format!("name: deep\nsteps: {inner}\n")), @r"
        f:2:199: error: more than 4 `foreach` stand in one another
         2 | …id: l2, foreach: {in: [1], as: b, steps: [{id: l1, foreach: {in: [1], as: a, steps: [{id: s, shell: 'true'}]}}]}}]}}]}}]}}]
           |                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        ");
}

#[test]
fn the_items_of_a_list_arrive_as_they_stand() {
    let workflow = good(
        r#"
name: l
steps:
  - id: each
    foreach: {in: [a"b, 'c\d', {x: [1, ~, true, 1.5]}, "é\n"], steps: [{id: s, claude: "{{ item }}"}]}
"#,
    );
    let Kind::Foreach(foreach) = &workflow.steps[0].kind else { panic!() };
    assert_eq!(
        foreach.items.value(&minijinja::Value::from(())).unwrap(),
        serde_json::json!(["a\"b", "c\\d", {"x": [1, null, true, 1.5]}, "é\n"])
    );
}

#[test]
fn conversations_and_ways_back_lead_to_steps_above() {
    insta::assert_snapshot!(told(r#"name: back
steps:
  - {id: plan, claude: plan it}
  - {id: talk, claude: {prompt: x, session: PD-1}}
  - {id: script, needs: [plan], shell: "true"}
  - {id: build, needs: [script], claude: {prompt: build, continue: plan}}
  - {id: wrong, needs: [talk, script], claude: {prompt: x, continue: talk}}
  - {id: wrong2, needs: [script], claude: {prompt: x, continue: build}}
  - {id: wrong3, claude: {prompt: x, continue: script}}
  - {id: wrong4, claude: {prompt: x, continue: paln}}
  - {id: ok, needs: [build], approval: {ask: "?", send_back: plan}}
  - {id: ok2, needs: [build], approval: {ask: "?", send_back: talk}}
  - {id: ok3, needs: [build], approval: {ask: "?", send_back: nowhere}}
"#), @r#"
        f:7:70: error: `talk` has no conversation to go on with
         7 |   - {id: wrong, needs: [talk, script], claude: {prompt: x, continue: talk}}
           |                                                                      ^^^^
           hint: `continue` names a step with `claude` and without `session`
        f:8:65: error: `build` does not come before this step
         8 |   - {id: wrong2, needs: [script], claude: {prompt: x, continue: build}}
           |                                                                 ^^^^^
           hint: add `needs: [build]`
        f:9:48: error: `script` has no conversation to go on with
         9 |   - {id: wrong3, claude: {prompt: x, continue: script}}
           |                                                ^^^^^^
           hint: `continue` names a step with `claude` and without `session`
        f:10:48: error: there is no step `paln` here
         10 |   - {id: wrong4, claude: {prompt: x, continue: paln}}
            |                                                ^^^^
           hint: did you mean `plan`?
        f:12:63: error: `talk` does not come before this step, so nothing can go back to it
         12 |   - {id: ok2, needs: [build], approval: {ask: "?", send_back: talk}}
            |                                                               ^^^^
           hint: it has to be among what `ok2` needs
        f:13:63: error: there is no step `nowhere` here
         13 |   - {id: ok3, needs: [build], approval: {ask: "?", send_back: nowhere}}
            |                                                               ^^^^^^^
        "#);
}

#[test]
fn values_of_env_arrive_as_they_are_written() {
    let workflow = good(
        "name: norway
steps:
  - id: show
    env:
      COUNTRY: no
      SWITCH: on
      ANSWER: y
      VERSION: 1.10
      MODE: 0777
      CLOCK: 12:30:45
      COMMIT: 1e3
      BIG: 123456789012345678901234567890
      NOTHING: ~
      DATE: 2026-11-29
      EMPTY:
      QUOTED: '~'
    shell: env
",
    );
    let values: Vec<_> =
        workflow.steps[0].env.iter().map(|(_, value)| value.source.as_str()).collect();
    assert_eq!(
        values,
        [
            "no",
            "on",
            "y",
            "1.10",
            "0777",
            "12:30:45",
            "1e3",
            "123456789012345678901234567890",
            "",
            "2026-11-29",
            "",
            "~"
        ]
    );
}

#[test]
fn what_is_merged_is_merged() {
    let workflow = good(
        r#"name: anchors
defaults: &base
  timeout: 30s
  env: {LEVEL: info}
x-more: &more {timeout: 5s, retry: 1}
steps:
  - <<: *base
    id: a
    shell: 'echo "$LEVEL"'
  - <<: [*base, *more]
    id: b
    needs: [a]
    shell: 'echo "$LEVEL"'
  - {<<: *base, id: c, timeout: 7s, shell: "true"}
"#,
    );
    let timeouts: Vec<_> =
        workflow.steps.iter().map(|step| step.timeout.unwrap().as_secs()).collect();
    assert_eq!(timeouts, [30, 30, 7]);
    assert!(workflow.steps.iter().all(|step| step.env.len() == 1));
    assert_eq!(workflow.steps[1].retry.as_ref().unwrap().times, 1);
}

#[test]
fn a_name_with_a_dash_is_no_subtraction() {
    insta::assert_snapshot!(told(r#"name: dash
params: {my-target: {default: a}, count: {type: integer, default: 3}}
secrets: [MY-TOKEN]
steps:
  - {id: get-it, http: {url: "https://x", extract: {the-id: response.json}}, title: "{{ x }}"}
  - {id: a, needs: [get-it], shell: "true", env: {A: "{{ params.my-target }}", B: "{{ secrets.MY-TOKEN }}", C: "{{ steps.get-it.the-id }}", D: '{{ steps["get-it"].the-id }}', E: "{{ params.count-1 }}", F: '{{ params["my-target"] }}'}}
"#), @r#"
        f:6:58: error: `params.my-target` is a subtraction, because of the `-` in `my-target`
         6 |   - {id: a, needs: [get-it], shell: "true", env: {A: "{{ params.my-target }}", B: "{{ secrets.MY-TOKEN }}", C: "{{ steps.get-it.the-id }}", D: '{{ steps["get-it…
           |                                                          ^^^^^^^^^
           hint: write `params["my-target"]`
        f:6:87: error: `secrets.MY-TOKEN` is a subtraction, because of the `-` in `MY-TOKEN`
         6 |   - {id: a, needs: [get-it], shell: "true", env: {A: "{{ params.my-target }}", B: "{{ secrets.MY-TOKEN }}", C: "{{ steps.get-it.the-id }}", D: '{{ steps["get-it…
           |                                                                                       ^^^^^^^^^^
           hint: write `secrets["MY-TOKEN"]`
        f:6:116: error: `steps.get-it` is a subtraction, because of the `-` in `get-it`
         6 |   - {id: a, needs: [get-it], shell: "true", env: {A: "{{ params.my-target }}", B: "{{ secrets.MY-TOKEN }}", C: "{{ steps.get-it.the-id }}", D: '{{ steps["get-it…
           |                                                                                                                    ^^^^^^^^^
           hint: write `steps["get-it"]`
        f:6:133: error: there is nothing called `id` to read
         6 |   - {id: a, needs: [get-it], shell: "true", env: {A: "{{ params.my-target }}", B: "{{ secrets.MY-TOKEN }}", C: "{{ steps.get-it.the-id }}", D: '{{ steps["get-it…
           |                                                                                                                                     ^^
           hint: text stands in quotes: "id"; there are: params, steps, run, env
        f:6:148: error: `steps.get-it.the-id` is a subtraction, because of the `-` in `the-id`
         6 |   - {id: a, needs: [get-it], shell: "true", env: {A: "{{ params.my-target }}", B: "{{ secrets.MY-TOKEN }}", C: "{{ steps.get-it.the-id }}", D: '{{ steps["get-it…
           |                                                                                                                                                    ^^^^^^^^^^^^^
           hint: write `steps.get-it["the-id"]`
        "#);
}
