//! Steps of runs, carried out by real processes: what they give, how they end, what they leave, and
//! what becomes of them when a process of ours dies.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod confinement;
    pub(crate) mod home;
    pub(crate) mod phone;
    pub(crate) mod steps;
}

mod of_steps {
    mod agents;
    mod requests;
}

use nix::sys::signal::Signal;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};
use support::steps::{Yard, adopted, done, failed, shell, text, work};
use vigie_workflow::{
    language::OutputForm,
    run::{JavascriptWork, Outcome, Told, WorkKind},
    value::{Piece, Sealed},
};

#[tokio::test]
async fn a_script_gives_what_it_prints() {
    let yard = Yard::new().await;
    let ended = yard.run(shell("echo hello; echo aside >&2; pwd")).await;
    assert_eq!(ended.outcome, Outcome::Done);
    assert_eq!(ended.output.text, format!("hello\n{}", yard.project().display()));
    assert_eq!(ended.output.exit_code, Some(0));
    assert_eq!(ended.changed, None);
}

#[tokio::test]
async fn a_script_fails_by_its_exit_code_and_says_why() {
    let yard = Yard::new().await;
    assert_eq!(
        failed(yard.run(shell("echo no such quay >&2; exit 3")).await),
        "exit code 3: no such quay"
    );
    assert_eq!(failed(yard.run(shell("false; echo never")).await), "exit code 1");
    assert_eq!(failed(yard.run(shell("echo 1 test; exit 2")).await), "exit code 2: 1 test");
    assert_eq!(failed(yard.run(shell("kill -9 $$")).await), "ended by SIGKILL");
    let mut work = shell("print(1 + 1)");
    let WorkKind::Shell(script) = &mut work.what else { unreachable!() };
    script.shell = ["python3", "-c"].map(str::to_owned).to_vec();
    assert_eq!(text(yard.run(work).await), "2");
}

#[tokio::test]
async fn json_is_read_and_demanded() {
    let yard = Yard::new().await;
    let mut work = shell(r#"echo '{"open": [285]}'"#);
    work.output = OutputForm::Json;
    assert_eq!(done(yard.run(work.clone()).await).output.json, Some(json!({"open": [285]})));
    work.what = shell("echo nothing").what;
    let why = failed(yard.run(work).await);
    assert!(why.starts_with("what it printed is no JSON"), "{why}");
}

#[tokio::test]
async fn json_that_could_not_be_read_again_is_a_failure() {
    let yard = Yard::new().await;
    let mut work = shell("python3 -c 'print(\"[\" * 100 + \"]\" * 100)'");
    work.output = OutputForm::Json;
    let words = "JSON of more than 64 levels; make it flatter";
    assert_eq!(failed(yard.run(work).await), format!("what it printed is {words}"));
    let deep = javascript("let a = []; for (let n = 0; n < 122; n++) a = [a]; return a");
    assert_eq!(failed(yard.run(deep).await), format!("what it returned is {words}"));
    // Whatever left it there: it ended, and nothing is begun again.
    let order = yard.order(shell("true"));
    fs::write(yard.make_folder(&order).join("ended.json"), "{\"ended\":").unwrap();
    yard.runner.carry_out(adopted(order));
    let why = failed(yard.ended().await);
    assert!(why.starts_with("its result does not read: "), "{why}");
}

#[tokio::test]
async fn the_environment_is_small_and_its_own() {
    let yard = Yard::new().await;
    let mut work = shell("env");
    work.env = vec![("TARGET".into(), Sealed::plain("staging; $(rm -rf x)"))];
    let env = text(yard.run(work).await);
    let names: Vec<&str> =
        env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(env.contains("TARGET=staging; $(rm -rf x)\n"), "{env}");
    assert!(env.contains("TERM=dumb\n") && env.contains("VIGIE_STEP=step\n"), "{env}");
    assert!(env.contains("VIGIE_KEY=key-of-the-step"), "{env}");
    assert!(env.contains("VIGIE_ATTEMPT=1\n") && names.contains(&"VIGIE_RUN"), "{env}");
    assert!(names.iter().all(|name| !name.starts_with("CARGO_PKG")), "{env}");
    let mut work = shell("true");
    work.env = vec![("TARGET".into(), Sealed::plain("a\0b"))];
    let why = failed(yard.run(work).await);
    assert!(why.starts_with("the variable `TARGET` of its environment holds a NUL"), "{why}");
    // No signal is held back because its process holds some back.
    let signals = text(yard.run(shell("exec grep SigBlk /proc/self/status")).await);
    assert_eq!(signals, "SigBlk:\t0000000000000000");
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree() {
    let yard = Yard::new().await;
    let mut work =
        shell("trap '' TERM; (trap '' TERM; sleep 4711) & setsid sleep 4711 & sleep 4711");
    work.timeout = Some(Duration::from_millis(300));
    let ended = yard.run(work).await;
    assert_eq!(ended.outcome, Outcome::TimedOut);
    assert_eq!(yard.processes().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_step_heeds_what_its_starter_ignored() {
    let yard = Yard::under_a_deaf_starter().await;
    let ignored = text(yard.run(shell("grep SigIgn /proc/self/status")).await);
    let ignored = u64::from_str_radix(ignored.trim_start_matches("SigIgn:\t"), 16).unwrap();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        assert_eq!(ignored >> (signal as i32 - 1) & 1, 0, "{signal}");
    }
    // It ends in order by TERM, without KILL after it.
    // What it waits for may be ended first.
    let script = "trap 'echo ended in order; exit 1' TERM
        echo up; while :; do sleep 4711 & wait || :; done";
    let order = yard.order(shell(script));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "up").await;
    yard.runner.stop(order.run, order.step.clone(), order.attempt);
    let ended = yard.ended().await;
    assert_eq!(ended.outcome, Outcome::Cancelled);
    assert_eq!(ended.output.text, "up\nended in order");
}

#[tokio::test]
async fn what_is_left_in_the_background_is_ended() {
    let yard = Yard::new().await;
    let begun = Instant::now();
    let ended = yard.run(shell("sleep 4711 & setsid -f sh -c 'sleep 4711' & echo started")).await;
    assert_eq!(done(ended).output.text, "started");
    assert!(begun.elapsed() < Duration::from_mins(1), "it waited for what nobody waits for");
    assert_eq!(yard.processes().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_step_that_is_stopped_is_cancelled_with_all_it_started() {
    let yard = Yard::new().await;
    let order = yard.order(shell("echo up; setsid sleep 4711 & sleep 4711"));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "up").await;
    yard.runner.stop(order.run, order.step.clone(), order.attempt);
    assert_eq!(yard.ended().await.outcome, Outcome::Cancelled);
    assert_eq!(yard.processes().await, Vec::<String>::new());
    // And nothing is left to be begun.
    yard.runner.stop(order.run, order.step.clone(), order.attempt);
    assert_eq!(yard.ended().await.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn what_is_stopped_before_it_began_never_begins() {
    let yard = Yard::new().await;
    let order = yard.order(shell("touch began"));
    yard.runner.carry_out(order.clone());
    yard.runner.stop(order.run, order.step.clone(), order.attempt);
    assert_eq!(yard.ended().await.outcome, Outcome::Cancelled);
    assert!(!yard.project().join("began").exists());
}

#[tokio::test]
async fn much_output_goes_to_disk_whole() {
    let yard = Yard::new().await;
    let order = yard.order(shell("head -c 200000000 /dev/zero | tr '\\0' x; echo end"));
    yard.runner.carry_out(order.clone());
    let mut most = 0;
    let ended = loop {
        tokio::select! {
            ended = yard.ended() => break ended,
            () = tokio::time::sleep(Duration::from_millis(20)) => most = most.max(yard.memory_of_keepers()),
        }
    };
    let output = done(ended).output;
    let cut = output.cut.unwrap();
    assert_eq!(cut.bytes, 200_000_004);
    assert_eq!(fs::metadata(&cut.file).unwrap().len(), 200_000_004);
    assert_eq!(output.text.len(), vigie_workflow::run::KEPT_TEXT);
    assert!((1..8 << 20).contains(&most), "{most} bytes of its own");
}

#[tokio::test]
async fn secrets_are_in_nothing_that_is_kept() {
    const VALUE: &str = "p4ss/word+with=signs&\"quotes\" and blanks";
    let yard = Yard::with_secret(VALUE).await;
    let script = r#"
        printf '%s\n' "$TOKEN"; printf '%s' "$TOKEN" | base64 -w0; echo
        printf 'user:%s' "$TOKEN" | base64 -w0; echo
        python3 -c 'import os, sys, json, urllib.parse as u
t = os.environ["TOKEN"]; print(u.quote(t), u.quote_plus(t), u.quote(t, safe=""), json.dumps(t), t.encode().hex())
for c in t: sys.stdout.write(c); sys.stdout.flush()
print()'
        printf '%s' "$TOKEN" > left.txt
        ps -ef | grep -c 'p4ss[/]word' || true
        printf 'it was %s' "$TOKEN" >&2; exit 3"#;
    let mut work = shell(script);
    work.env = vec![("TOKEN".into(), Sealed(vec![Piece::Secret("TOKEN".parse().unwrap())]))];
    let order = yard.order(work.clone());
    yard.runner.carry_out(order.clone());
    let ended = yard.ended().await;
    assert_eq!(failed(ended.clone()), "exit code 3: it was ***");
    assert!(ended.output.text.lines().count() >= 6, "{}", ended.output.text);
    assert_eq!(ended.output.text.lines().last(), Some("0"), "no command line shows it");
    work.what = shell("printf '%s' \"$TOKEN\"").what;
    work.files = vec![("left".into(), "left.txt".into())];
    let ended = done(yard.run(work).await);
    assert_eq!(fs::read_to_string(&ended.output.files["left"]).unwrap(), "***");
    assert_eq!(ended.output.text, "***");
    for kept in yard.kept() {
        let bytes = fs::read(&kept).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for part in ["p4ss", "cDRzcy", "A0c3Mvd", "70347373"] {
            assert!(!text.contains(part), "{part} is in {}: {text}", kept.display());
        }
    }
}

#[tokio::test]
async fn a_secret_is_only_for_who_may_have_it() {
    let yard = Yard::with_secret("correct-horse").await;
    let mut work = shell("true");
    work.env = vec![("TOKEN".into(), Sealed(vec![Piece::Secret("TOKEN".parse().unwrap())]))];
    let mut order = yard.order(work);
    order.workflow = "quay/release".into();
    yard.runner.carry_out(order);
    let why = failed(yard.ended().await);
    assert!(why.contains("may not use the secret `TOKEN`"), "{why}");
}

#[tokio::test]
async fn an_order_that_comes_twice_is_carried_out_once() {
    let yard = Yard::new().await;
    let order = yard.order(shell("echo run >> runs"));
    yard.runner.carry_out(order.clone());
    yard.runner.carry_out(order.clone());
    let first = yard.ended().await;
    yard.runner.carry_out(order.clone());
    assert_eq!(yard.ended().await, first);
    let again = Yard::beside(&yard);
    again.runner.carry_out(adopted(order));
    assert_eq!(again.ended().await, first);
    assert_eq!(fs::read_to_string(yard.project().join("runs")).unwrap(), "run\n");
}

#[tokio::test]
async fn a_step_outlives_the_daemon_that_began_it() {
    let yard = Yard::new().await;
    let order = yard
        .order(shell("echo run >> runs; echo up; until [ -e go ]; do sleep 0.02; done; echo over"));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "up").await;
    yard.leave().await;
    let next = Yard::beside(&yard);
    next.runner.carry_out(adopted(order.clone()));
    fs::write(yard.project().join("go"), "").unwrap();
    assert_eq!(text(next.ended().await), "up\nover");
    // One that comes when it is over reads the same.
    let last = Yard::beside(&yard);
    last.runner.carry_out(adopted(order));
    assert_eq!(text(last.ended().await), "up\nover");
    assert_eq!(fs::read_to_string(yard.project().join("runs")).unwrap(), "run\n");
}

#[tokio::test]
async fn a_step_of_a_dead_daemon_can_be_stopped() {
    let yard = Yard::new().await;
    let order = yard.order(shell("echo up; sleep 4711"));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "up").await;
    yard.leave().await;
    let next = Yard::beside(&yard);
    next.runner.carry_out(adopted(order.clone()));
    next.runner.stop(order.run, order.step, order.attempt);
    assert_eq!(next.ended().await.outcome, Outcome::Cancelled);
    assert_eq!(yard.processes().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_never_began_is_begun_by_whoever_adopts_it() {
    let yard = Yard::new().await;
    let order = yard.order(shell("echo here"));
    // Where a daemon died: before the folder, after it, and while its process waited for its task.
    yard.runner.carry_out(adopted(order.clone()));
    assert_eq!(text(yard.ended().await), "here");
    let second = yard.order(shell("echo here"));
    yard.make_folder(&second);
    yard.runner.carry_out(adopted(second));
    assert_eq!(text(yard.ended().await), "here");
    let third = yard.order(shell("echo here"));
    let mut waiting = yard.start_by_hand(&third);
    yard.runner.carry_out(adopted(third));
    drop(waiting.stdin.take());
    waiting.wait().unwrap();
    assert_eq!(text(yard.ended().await), "here");
}

#[tokio::test]
async fn wherever_a_daemon_dies_the_next_one_tells_the_end_and_nothing_runs_twice() {
    let yard = Yard::new().await;
    for moment in 0..24 {
        let now = Yard::beside(&yard);
        let order = now.order(shell(&format!("echo run >> runs-{moment}; echo over")));
        now.runner.carry_out(order.clone());
        for _ in 0..moment {
            tokio::task::yield_now().await;
        }
        now.leave().await;
        let next = Yard::beside(&yard);
        next.runner.carry_out(adopted(order));
        assert_eq!(text(next.ended().await), "over", "{moment}");
        let runs = fs::read_to_string(yard.project().join(format!("runs-{moment}"))).unwrap();
        assert_eq!(runs, "run\n", "{moment}");
    }
}

#[tokio::test]
async fn a_step_whose_process_was_killed_is_in_doubt_and_leaves_nothing_running() {
    let yard = Yard::new().await;
    let order = yard.order(shell("echo up; setsid sleep 4711 & sleep 4711"));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "up").await;
    yard.kill(&order);
    assert_eq!(yard.told().await, Told::Gone);
    assert_eq!(yard.processes().await, Vec::<String>::new());
    let next = Yard::beside(&yard);
    next.runner.carry_out(adopted(order));
    assert_eq!(next.told().await, Told::Gone, "and stays so");
}

#[tokio::test]
async fn a_machine_that_shuts_down_cancels_nothing() {
    let yard = Yard::new().await;
    let order = yard.order(shell("echo up; sleep 4711"));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "up").await;
    yard.signal(&order, nix::sys::signal::Signal::SIGTERM);
    assert_eq!(yard.told().await, Told::Gone);
    assert_eq!(yard.processes().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_check_decides_after_the_step_said_it_is_done() {
    let yard = Yard::new().await;
    let mut work = shell("touch made");
    work.check = Some("test -e made".into());
    assert_eq!(yard.run(work.clone()).await.outcome, Outcome::Done);
    work.check = Some("echo two tests failed >&2; exit 101\n# more".into());
    assert_eq!(
        failed(yard.run(work).await),
        "the check `echo two tests failed >&2; exit 101 …` failed with exit code 101: two tests failed"
    );
}

#[tokio::test]
async fn files_are_kept_and_nothing_from_outside() {
    let yard = Yard::new().await;
    fs::write(yard.project().join("../private"), "private").unwrap();
    let mut work = shell("mkdir -p out; echo report > out/report.txt; ln -s ../private link");
    work.files = vec![("report".into(), "out/report.txt".into())];
    let ended = done(yard.run(work.clone()).await);
    assert_eq!(fs::read_to_string(&ended.output.files["report"]).unwrap(), "report\n");
    // Another step reads it where it is told to look, and changes nothing there.
    let mut reader = shell("cat \"$REPORT\"; if echo x >> \"$REPORT\"; then echo written; fi");
    reader.env = vec![("REPORT".into(), Sealed::plain(&ended.output.files["report"]))];
    let read = done(yard.run(reader).await);
    assert_eq!(read.output.text.contains("written"), !yard.confines_files(), "{read:?}");
    assert!(read.output.text.starts_with("report"), "{read:?}");
    work.what = shell("true").what;
    for (path, words) in [("link", "outside"), ("../private", "outside"), ("nowhere", "nowhere")] {
        work.files = vec![("it".into(), path.into())];
        let why = failed(yard.run(work.clone()).await);
        assert!(why.contains("its file `it` cannot be kept") && why.contains(words), "{why}");
    }
}

#[tokio::test]
async fn the_folder_of_a_step_lies_in_its_project() {
    let yard = Yard::new().await;
    symlink("/etc", yard.project().join("out")).unwrap();
    fs::create_dir(yard.project().join("front")).unwrap();
    let mut work = shell("pwd");
    work.cwd = "front".into();
    assert_eq!(text(yard.run(work.clone()).await), yard.project().join("front").to_str().unwrap());
    for cwd in ["out", "..", "/etc", "nowhere"] {
        work.cwd = cwd.into();
        failed(yard.run(work.clone()).await);
    }
}

#[tokio::test]
async fn what_changed_is_told_from_a_tree_that_is_dirty_already() {
    let yard = Yard::new().await;
    yard.git(&["init", "-q"]);
    fs::write(yard.project().join(".gitignore"), "ignored\n").unwrap();
    for file in ["dirty", "clean", "moved", "committed"] {
        fs::write(yard.project().join(file), file).unwrap();
    }
    yard.git(&["add", "."]);
    yard.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    fs::write(yard.project().join("dirty"), "by a person").unwrap();
    fs::write(yard.project().join("new"), "by a person").unwrap();
    let mut work = shell("true");
    work.measure = true;
    assert_eq!(yard.run(work.clone()).await.changed, Some(vec![]));
    work.what = shell(
        "echo x > clean; echo y >> dirty; mv moved 'moved too'; touch ignored; echo z > committed
         git add committed; git -c user.name=a -c user.email=a@b commit -qm more -- committed",
    )
    .what;
    let changed = done(yard.run(work.clone()).await).changed.unwrap();
    assert_eq!(changed, ["clean", "committed", "dirty", "moved", "moved too"]);
    // Taking over what was there already is no change.
    work.what = shell("git add . ; git -c user.name=a -c user.email=a@b commit -qm rest").what;
    assert_eq!(done(yard.run(work).await).changed, Some(vec![]));
}

#[tokio::test]
async fn a_second_try_answers_for_what_the_first_one_changed() {
    let yard = Yard::new().await;
    yard.git(&["init", "-q"]);
    fs::write(yard.project().join("protected"), "as it was").unwrap();
    yard.git(&["add", "."]);
    yard.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    let mut work = shell("echo evil >> protected");
    work.measure = true;
    let first = yard.order(work.clone());
    let since = first.attempt;
    yard.runner.carry_out(first);
    assert_eq!(yard.ended().await.changed.unwrap(), ["protected"]);
    work.what = shell("true").what;
    let mut second = yard.order(work.clone());
    second.work.since = since;
    yard.runner.carry_out(second);
    assert_eq!(yard.ended().await.changed.unwrap(), ["protected"]);
    // What is begun anew answers for itself alone.
    assert_eq!(done(yard.run(work).await).changed, Some(vec![]));
}

#[tokio::test]
async fn a_step_cannot_keep_git_from_seeing_what_it_changed() {
    let yard = Yard::new().await;
    yard.git(&["init", "-q"]);
    for file in ["assumed", "skipped", "marked", "kept"] {
        fs::write(yard.project().join(file), file).unwrap();
    }
    yard.git(&["add", "."]);
    yard.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    yard.git(&["update-index", "--assume-unchanged", "marked", "kept"]);
    let changed = async |script: &str| {
        let mut work = shell(script);
        work.measure = true;
        done(yard.run(work).await).changed.unwrap()
    };
    assert_eq!(changed("git update-index --no-assume-unchanged kept").await, [""; 0]);
    let script =
        "git update-index --assume-unchanged assumed; git update-index --skip-worktree skipped
                  for file in assumed skipped marked; do echo x > $file; done";
    assert_eq!(changed(script).await, ["assumed", "marked", "skipped"]);
    let script = "echo hidden >> .git/info/exclude; echo x > hidden";
    assert_eq!(changed(script).await, [".git/info/exclude"]);
    for setting in ["core.excludesFile /dev/null", "core.fileMode false", "filter.x.clean true"] {
        assert_eq!(changed(&format!("git config {setting}")).await, [".git/config"], "{setting}");
    }
    assert_eq!(changed("git config user.name Ines; git config branch.a.remote b").await, [""; 0]);
    let script = "echo x > kept; tree=$(git add kept; git write-tree); git reset -q
                  git replace HEAD $(git -c user.name=a -c user.email=a@b commit-tree -m x $tree)
                  git add kept";
    assert_eq!(changed(script).await, ["kept"]);
}

#[tokio::test]
async fn what_changed_is_told_without_a_repository_too() {
    let yard = Yard::new().await;
    fs::create_dir(yard.project().join("sub")).unwrap();
    fs::write(yard.project().join("sub/a"), "a").unwrap();
    fs::write(yard.project().join("b"), "b").unwrap();
    let mut work = shell("echo x > a; rm ../b; touch c");
    work.cwd = "sub".into();
    work.measure = true;
    assert_eq!(done(yard.run(work).await).changed.unwrap(), ["../b", "a", "c"]);
}

#[tokio::test]
async fn a_step_that_may_only_read_writes_nothing() {
    let yard = Yard::new().await;
    yard.git(&["init", "-q"]);
    fs::write(yard.project().join("a"), "a").unwrap();
    let mut work = shell("cat a; echo changed > a");
    let WorkKind::Shell(script) = &mut work.what else { unreachable!() };
    script.read_only = true;
    let ended = yard.run(work.clone()).await;
    if yard.confines_files() {
        assert!(failed(ended.clone()).contains("Read-only file system"), "{ended:?}");
        assert_eq!(ended.changed, Some(vec![]));
        assert_eq!(fs::read_to_string(yard.project().join("a")).unwrap(), "a");
    } else {
        assert_eq!(failed(ended), "it may only read, and `a` has changed");
    }
    assert_eq!(ended_text(&yard, "cat a").await, "a");
}

async fn ended_text(yard: &Yard, script: &str) -> String {
    let mut work = shell(script);
    let WorkKind::Shell(shell) = &mut work.what else { unreachable!() };
    shell.read_only = true;
    text(yard.run(work).await)
}

#[tokio::test]
async fn many_steps_leave_nothing_behind() {
    let yard = Yard::new().await;
    for _ in 0..30 {
        let orders: Vec<_> = (0..10).map(|_| yard.order(shell("(true &) ; true"))).collect();
        for order in &orders {
            yard.runner.carry_out(order.clone());
        }
        for _ in &orders {
            assert_eq!(yard.ended().await.outcome, Outcome::Done);
        }
    }
    assert_eq!(yard.processes().await, Vec::<String>::new());
    let us = std::process::id().to_string();
    let listed = Command::new("ps").args(["--ppid", &us, "-o", "stat="]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let dead = listed.lines().filter(|line| line.starts_with('Z')).count();
    assert_eq!(dead, 0, "{listed}");
}

fn javascript(code: &str) -> vigie_workflow::run::Work {
    work(WorkKind::Javascript(JavascriptWork {
        code: code.into(),
        input: [("rows".to_owned(), json!([{"n": 1}, {"n": 2}]))].into(),
        memory: 16 << 20,
    }))
}

#[tokio::test]
async fn javascript_computes_and_nothing_else() {
    let yard = Yard::new().await;
    let ended = yard.run(javascript("return input.rows.map(row => row.n * 2)")).await;
    assert_eq!(done(ended).output.json, Some(json!([2, 4])));
    let ended = yard.run(javascript("return `${input.rows.length} rows`")).await;
    assert_eq!(text(ended), "2 rows");
    assert_eq!(
        failed(yard.run(javascript("\nthrow new Error('no rows')")).await),
        "no rows (line 2)"
    );
    let why = failed(
        yard.run(javascript("const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)")).await,
    );
    assert_eq!(why, "it needs more than the 16 MiB of memory it may use");
    let mut endless = javascript("for (;;);");
    endless.timeout = Some(Duration::from_millis(300));
    assert_eq!(yard.run(endless).await.outcome, Outcome::TimedOut);
    assert_eq!(yard.processes().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_step_is_no_person_to_vigie() {
    let yard = Yard::new().await;
    let order = yard.order(shell("sleep 4711 & echo $!; wait"));
    yard.runner.carry_out(order.clone());
    yard.prints(&order, "\n").await;
    let inside = yard.marked_pids();
    assert!(!inside.is_empty());
    for pid in inside {
        let caller = vigie::hold::ancestry::caller(pid);
        let folder = fs::canonicalize(yard.folder(&order)).unwrap();
        assert_eq!(caller, vigie::hold::ancestry::Caller::Session { folder });
    }
    yard.runner.stop(order.run, order.step, order.attempt);
    yard.ended().await;
    // At the door that the desk's commands come through.
    let door = tokio::net::UnixListener::bind(yard.project().join("door")).unwrap();
    let call = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('door'); s.recv(1)";
    yard.runner.carry_out(yard.order(shell(&format!("python3 -c \"{call}\""))));
    let (stream, _) = door.accept().await.unwrap();
    let refused = vigie::hold::ancestry::admit(&stream).unwrap_err();
    assert!(refused.contains("sessions may not steer sessions"), "{refused}");
    drop(stream);
    assert_eq!(yard.ended().await.outcome, Outcome::Done);
    if yard.confines_files() {
        let data = yard.ground.data.display();
        let script = format!("ls -A {data} | wc -l; ls {data}/runs 2>&1 | tail -1");
        let seen = text(yard.run(shell(&script)).await);
        assert!(seen.starts_with("0\n") && seen.contains("No such file"), "{seen}");
    }
}
