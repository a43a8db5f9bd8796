//! `vigie workflow` without a daemon: what is wrong is said with its place, and nothing runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use serde_json::Value;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A person with a configuration, a project and workflows of both.
struct Desk {
    folder: tempfile::TempDir,
}

const RELEASE: &str = "\
name: release
description: Puts it out.
params:
  target: {type: string, enum: [staging, prod], default: staging}
  count: {type: integer, minimum: 1, maximum: 9, default: 1}
on:
  cron: [\"30 7 * * 1-5\"]
  timezone: Europe/Paris
  webhook: {secret: HOOK}
limits: {cost_usd: 1.5}
steps:
  - {id: tests, shell: \"true\"}
  - {id: slow, needs: tests, if: \"params.count > 3\", sleep: 1h}
  - {id: last, needs: [tests, slow], shell: \"true\"}
";

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(desk.own()).unwrap();
        fs::create_dir_all(desk.project().join(".vigie/workflows")).unwrap();
        let text = format!(
            "[[human]]\nid = \"ines\"\nrole = \"owner\"\n\n[[project]]\nname = \"quay\"\npath = \"{}\"\nagent = \"demo\"\n",
            desk.project().display()
        );
        fs::write(desk.folder.path().join("config.toml"), text).unwrap();
        desk
    }

    fn own(&self) -> PathBuf {
        self.folder.path().join("workflows")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("quay")
    }

    /// One of the person's own.
    fn put(&self, file: &str, text: &str) -> PathBuf {
        let path = self.own().join(file);
        fs::write(&path, text).unwrap();
        path
    }

    /// One of the project's.
    fn put_in_project(&self, file: &str, text: &str) {
        fs::write(self.project().join(".vigie/workflows").join(file), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        let home = self.folder.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
        command.current_dir(home).env("VIGIE_HOME", home.join("data")).env("NO_COLOR", "1");
        command.args(["workflow", "--config", "config.toml"]).args(args).output().unwrap()
    }

    /// What it prints, with this folder written as `DESK`.
    fn said(&self, args: &[&str]) -> (i32, String) {
        let output = self.run(args);
        let folder = self.folder.path().display().to_string();
        let text = String::from_utf8(output.stdout).unwrap().replace(&folder, "DESK");
        (output.status.code().unwrap(), text)
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        let words = || String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words()))
    }
}

fn steps(more: &str) -> String {
    format!("steps:\n  - {{id: a, shell: \"true\"}}\n{more}")
}

#[test]
fn a_mistake_is_shown_with_its_place_and_the_right_word() {
    let desk = Desk::new();
    desk.put("a.yaml", "name: a\nsteps:\n  - id: one\n    shel: cargo test\n");
    let (code, said) = desk.said(&["check", "a"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(said, @r"
    DESK/workflows/a.yaml:3:9: error: this step does nothing
     3 |   - id: one
       |         ^^^
       hint: give it one of: shell, claude, http, javascript, sleep, condition, approval, workflow, foreach
    DESK/workflows/a.yaml:4:5: error: unknown key `shel`
     4 |     shel: cargo test
       |     ^^^^
       hint: did you mean `shell`?

    0 of 1 run as they stand
    ");
    let shape = desk.json(&["check", "a"]);
    assert_eq!(shape["files"][0]["runs"], false);
    assert_eq!(shape["files"][0]["problems"][1]["line"], 4);

    let outside = desk.folder.path().join("other.yaml");
    fs::write(&outside, format!("name: other\n{}", steps(""))).unwrap();
    let (code, said) = desk.said(&["check", "other.yaml"]);
    assert_eq!((code, said.as_str()), (0, "other runs as it stands\n"));
}

#[test]
fn one_broken_file_hides_no_other_and_nothing_is_followed_out_of_a_folder() {
    let desk = Desk::new();
    desk.put("good.yaml", &format!("name: good\n{}", steps("")));
    desk.put("broken.yaml", "name: [\n");
    desk.put("bytes.yaml", "");
    fs::write(desk.own().join("bytes.yaml"), [b'n', 0xff]).unwrap();
    fs::write(desk.own().join("long.yaml"), vec![b'#'; (1 << 20) + 1]).unwrap();
    let secret = desk.folder.path().join("secret.yaml");
    fs::write(&secret, "name: s3cret\n").unwrap();
    symlink(&secret, desk.own().join("link.yaml")).unwrap();
    symlink(desk.own().join("good.yaml"), desk.own().join("twin.txt")).unwrap();
    nix::unistd::mkfifo(&desk.own().join("pipe.yaml"), nix::sys::stat::Mode::S_IRWXU).unwrap();

    let shape = desk.json(&["check"]);
    let files = shape["files"].as_array().unwrap();
    let about = |name: &str| {
        let file = files.iter().find(|file| file["file"].as_str().unwrap().ends_with(name));
        file.unwrap_or_else(|| panic!("{name} is missing")).clone()
    };
    assert_eq!(about("good.yaml")["runs"], true);
    for (name, why) in [
        ("link.yaml", "leads out of"),
        ("pipe.yaml", "no file"),
        ("long.yaml", "longer than"),
        ("bytes.yaml", "UTF-8"),
        ("broken.yaml", ""),
    ] {
        let file = about(name);
        assert_eq!(file["runs"], false, "{name}");
        assert!(file["problems"][0]["what"].as_str().unwrap().contains(why), "{name}: {file}");
    }
    assert!(!shape.to_string().contains("s3cret"));
}

#[test]
fn a_name_counts_once_and_ones_own_comes_first() {
    let desk = Desk::new();
    desk.put("mine.yaml", &format!("name: bug\ntitle: Mine\n{}", steps("")));
    desk.put("b.yaml", &format!("name: twin\n{}", steps("")));
    desk.put("c.yaml", &format!("name: twin\n{}", steps("")));
    desk.put_in_project("x.yaml", &format!("name: twin\n{}", steps("")));
    let all = desk.json(&["list"]);
    let named = |name: &str| {
        let found = all.as_array().unwrap().iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("{name} is missing in {all}")).clone()
    };
    assert_eq!(named("bug")["title"], "Mine");
    assert_eq!(named("quay/twin")["mistakes"], 0);
    assert_eq!(named("twin")["mistakes"], 1);
    let (code, said) = desk.said(&["check", "twin"]);
    assert_eq!(code, 1);
    for (file, other) in [("b.yaml", "c.yaml"), ("c.yaml", "b.yaml")] {
        let line = format!(
            "/workflows/{file}:1:1: error: `twin` is the name of DESK/workflows/{other} too"
        );
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn calls_are_checked_across_files() {
    let desk = Desk::new();
    let call = |name: &str, calls: &str| {
        desk.put(&format!("{name}.yaml"), &format!("name: {name}\n{}", steps(calls)));
    };
    call("ring", "  - {id: b, workflow: gnir}\n");
    call("gnir", "  - {id: b, workflow: ring}\n");
    call("above", "  - {id: b, workflow: ring}\n");
    call("typo", "  - {id: b, workflow: relaese}\n");
    desk.put("release.yaml", &RELEASE.replace(", default: 1", "").replace("\non:", "\nx-on:"));
    call("without", "  - {id: b, workflow: release}\n");
    call(
        "with",
        "  - id: b\n    workflow: {name: release, params: {count: \"1\", cuont: \"2\"}}\n",
    );
    desk.put_in_project(
        "in.yaml",
        &format!("name: in\n{}", steps("  - {id: b, workflow: part}\n")),
    );
    desk.put_in_project("part.yaml", &format!("name: part\n{}", steps("")));
    let said = |name: &str| desk.said(&["check", name]).1;
    assert!(
        said("ring").contains("it comes back to itself: ring → gnir → ring"),
        "{}",
        said("ring")
    );
    assert!(said("above").contains("`ring` does not run"), "{}", said("above"));
    let typo = said("typo");
    assert!(typo.contains("typo.yaml:4:23: error: no workflow is called `relaese`"), "{typo}");
    assert!(typo.contains("did you mean `release`?"), "{typo}");
    assert!(said("without").contains("`release` needs the param `count`"), "{}", said("without"));
    let with = said("with");
    assert!(with.contains("`release` has no param `cuont`"), "{with}");
    assert_eq!(desk.said(&["check", "quay/in"]).0, 0);
}

#[test]
fn a_plan_shows_what_would_happen() {
    let desk = Desk::new();
    desk.put("release.yaml", RELEASE);
    desk.put_in_project("release.yaml", RELEASE);
    let (code, said) = desk.said(&["plan", "release", "count=2"]);
    assert_eq!(code, 0);
    let (before, times) = said.split_once("30 7 * * 1-5 (Europe/Paris): ").unwrap();
    let (times, after) = times.split_once('\n').unwrap();
    assert_eq!(times.split(", ").count(), 5);
    assert!(times.split(", ").all(|at| at.contains("07:30 CE")), "{times}");
    insta::assert_snapshot!(before, @r#"
    release  DESK/workflows/release.yaml
    Puts it out.

    Steps:
      1 tests · shell
      2 slow ← tests · sleep · if params.count > 3
      3 last ← tests, slow · shell
      not slow, since its `if` is false: params.count > 3

    Params:
      target  "staging"  "staging" or "prod"
      count   2          integer, 1 to 9, 1 if not given

    Starts by itself:
    "#);
    insta::assert_snapshot!(after, @r#"
      POST /hooks/release by who knows the secret HOOK

    Costs: at most $1.50

    DESK/workflows/release.yaml:4: nothing reads the param `target`

    DESK/workflows/release.yaml:9: no secret is called `HOOK`; add [[secret]] name = "HOOK", workflows = ["release"] to the configuration
    "#);

    let plan = desk.json(&["plan", "release", "count=5", "target=prod"]);
    assert_eq!(plan["params"], serde_json::json!({ "count": 5, "target": "prod" }));
    assert_eq!(plan["steps"][1]["runs"], "yes");
    let (code, said) = desk.said(&["plan", "quay/release"]);
    assert_eq!(code, 0);
    assert!(said.contains("quay is not in `triggers`"), "{said}");
    assert!(desk.said(&["plan", "bug"]).1.contains("must be given"));
    let wrong = desk.run(&["plan", "release", "target=produ", "count=many"]);
    assert_eq!(wrong.status.code(), Some(1));
    let words = String::from_utf8(wrong.stderr).unwrap();
    assert!(words.contains("produ") && words.contains("many"), "{words}");
}

#[test]
fn a_secret_that_it_would_not_get_is_warned_of() {
    let desk = Desk::new();
    let config = desk.folder.path().join("config.toml");
    let secret = |name: &str, workflows: &str| {
        format!("[[secret]]\nname = \"{name}\"\nenv = \"{name}\"\nworkflows = [{workflows}]\n")
    };
    let text = fs::read_to_string(&config).unwrap();
    let text = [text, secret("FINE", "\"*\""), secret("OTHER", "\"other\"")].concat();
    fs::write(&config, text).unwrap();
    let env =
        "    env: {A: '{{ secrets.FINE }}', B: '{{ secrets.OTHER }}', C: '{{ secrets.GONE }}'}\n";
    let steps = format!("steps:\n  - id: a\n    shell: 'true'\n{env}");
    let head = "name: a\non:\n  webhook: {secret: HOOK}\nsecrets: [FINE, OTHER, GONE]\n";
    desk.put("a.yaml", &format!("{head}{steps}"));
    let (code, said) = desk.said(&["check", "a"]);
    for words in [
        "a.yaml:3:21: warning: no secret is called `HOOK`",
        "a.yaml:4:17: warning: it may not use the secret `OTHER`",
        "a.yaml:4:24: warning: no secret is called `GONE`",
        "hint: add \"a\" to its `workflows` in the configuration",
    ] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!((code, said.matches("warning").count()), (0, 3), "{said}");
    let output = desk.run(&["plan", "a"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("it may not use the secret `OTHER`"), "{said}");
}

#[test]
fn what_ships_runs_as_it_stands_and_can_be_made_ones_own() {
    let desk = Desk::new();
    assert_eq!(desk.said(&["check"]), (0, "7 of 7 run as they stand\n".into()));
    let audit = desk.json(&["plan", "nightly-audit"]);
    assert_eq!(audit["triggers"], false);
    assert_eq!(desk.said(&["copy", "nightly-audit"]).0, 0);
    assert_eq!(desk.json(&["plan", "nightly-audit"])["triggers"], true);
    assert_eq!(desk.said(&["check"]).0, 0);
    assert_eq!(desk.said(&["copy", "nightly-audit"]).0, 3, "it is there already");
    let copied = fs::read_to_string(desk.own().join("nightly-audit.yaml")).unwrap();
    let schema = copied.lines().next().unwrap().split_once("$schema=./").unwrap().1;
    assert!(desk.own().join(schema).is_file(), "editors find {schema} beside it");
}

#[test]
fn the_schema_is_printed_or_put_where_it_is_wanted() {
    let desk = Desk::new();
    let printed = desk.json(&["schema"]);
    assert_eq!(printed["type"], "object", "{printed}");
    let elsewhere = desk.folder.path().join("elsewhere");
    assert_eq!(desk.said(&["schema", "--write", elsewhere.to_str().unwrap()]).0, 0);
    assert_eq!(desk.said(&["schema", "--write"]).0, 0);
    let read = |folder: &Path| -> Value {
        serde_json::from_slice(&fs::read(folder.join("workflow.schema.json")).unwrap()).unwrap()
    };
    assert_eq!(read(&elsewhere), printed);
    assert_eq!(read(&desk.own()), printed);
}

#[test]
fn what_is_not_there_is_said_and_runs_need_a_daemon() {
    let desk = Desk::new();
    let output = desk.run(&["plan", "feature-x"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("feature"));
    let output = desk.run(&["run", "bug", "story"]);
    assert_eq!(output.status.code(), Some(2));
    for args in [&["run", "bug"][..], &["runs"], &["show", "bug-1"], &["logs", "bug-1"]] {
        assert_eq!(desk.run(args).status.code(), Some(4), "{args:?}");
    }
}
