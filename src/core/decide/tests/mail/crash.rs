use super::*;
use crate::agent::RefusedPrompt;

/// One way of a message into an agent, a step at a time.
type Steps = &'static [fn(&mut World)];

fn send(world: &mut World) {
    world.mails_to("PD-285", "PD-286", "hello");
}

fn take_beside(world: &mut World) {
    let mail = world.beside("PD-286").last().expect("it was told").0;
    world.takes_beside("PD-286", mail);
}

fn give_back(world: &mut World) {
    let mail = world.beside("PD-286").last().expect("it was told").0;
    world.gives_back("PD-286", mail);
}

const AS_A_PROMPT: Steps =
    &[send, |world| drop(world.takes("PD-286")), |world| world.finishes("PD-286", "ok")];

const BESIDE_ITS_WORK: Steps =
    &[|world| world.works("PD-286"), send, take_beside, |world| world.finishes("PD-286", "ok")];

const GIVEN_BACK: Steps = &[
    |world| world.works("PD-286"),
    send,
    give_back,
    |world| world.finishes("PD-286", "ok"),
    |world| drop(world.takes("PD-286")),
];

const FETCHED: Steps = &[
    |world| world.works("PD-286"),
    send,
    give_back,
    |world| drop(world.call("PD-286", AgentCommand::Read { most: 5 })),
    |world| world.finishes("PD-286", "ok"),
];

const WITHDRAWN: Steps = &[
    send,
    |world| drop(world.writes("[PD-286] this first")),
    |world| world.refuses("PD-286", RefusedPrompt::Withdrawn),
    |world| drop(world.takes("PD-286")),
    take_beside,
    |world| world.finishes("PD-286", "ok"),
];

const WAYS: [Steps; 5] = [AS_A_PROMPT, BESIDE_ITS_WORK, GIVEN_BACK, FETCHED, WITHDRAWN];

#[test]
fn a_daemon_that_dies_at_any_moment_changes_nothing() {
    for steps in WAYS {
        let run = |crashes: &dyn Fn(usize) -> bool| {
            let mut world = World::with(&["PD-285", "PD-286"]);
            for (at, step) in steps.iter().enumerate() {
                step(&mut world);
                if crashes(at) {
                    let given_back = !world.state.mail_lately.takes_nothing.is_empty();
                    world.crash();
                    if given_back {
                        // Nobody remembers that; it is tried again in this turn, and comes back.
                        give_back(&mut world);
                    }
                }
            }
            let mail = world.mails().remove(0);
            assert!(matches!(mail.state, MailState::Read { .. }), "{mail:?}");
            let beside = world.beside("PD-286").into_iter().map(|(_, text)| text);
            let told = world.handed("PD-286").into_iter().chain(beside);
            let told = told.map(|text| text.replace(&mail.id.to_string(), "ID"));
            let mut told: Vec<_> = told.collect();
            told.dedup();
            (told, mail.tries)
        };
        let undisturbed = run(&|_| false);
        assert_eq!(undisturbed.1, 0);
        for crash in 0..steps.len() {
            assert_eq!(run(&|at| at == crash), undisturbed, "after step {crash}");
        }
        assert_eq!(run(&|_| true), undisturbed, "after each");
    }
}

#[test]
fn a_session_that_dies_at_any_moment_is_told_again_and_that_is_said() {
    for steps in WAYS {
        for death in 0..steps.len() {
            let mut world = World::with(&["PD-285", "PD-286"]);
            for step in &steps[..=death] {
                step(&mut world);
            }
            world.dies("PD-286");
            world.crash();
            let Some(mail) = world.mails().pop() else { continue };
            world.resumes("PD-286");
            if matches!(mail.state, MailState::Read { .. }) {
                assert!(world.reads("PD-286").is_empty(), "once read, it is not told again");
                continue;
            }
            assert!(mail.is_waiting(), "{mail:?} after step {death}");
            // What a person wrote before goes first, and then it comes beside that turn.
            let first = world.takes("PD-286");
            let text = if first.contains("<vigie-mail") {
                first
            } else {
                let (id, text) = world.beside("PD-286").pop().expect("it is told");
                world.takes_beside("PD-286", id);
                world.finishes("PD-286", "ok");
                text
            };
            assert_eq!(text.contains("repeat=\"yes\""), mail.is_repeat());
            assert!(world.is_read(mail.id), "after step {death}");
        }
    }
}

#[test]
fn what_may_have_been_read_is_marked() {
    let dies_after = |steps: Steps| {
        let mut world = World::with(&["PD-285", "PD-286"]);
        for step in steps {
            step(&mut world);
        }
        world.dies("PD-286");
        world.mails().pop().unwrap().is_repeat()
    };
    assert!(dies_after(&AS_A_PROMPT[..1]), "handed over");
    assert!(dies_after(&BESIDE_ITS_WORK[..2]), "told");
    assert!(dies_after(&BESIDE_ITS_WORK[..3]), "taken");
    assert!(!dies_after(&GIVEN_BACK[..3]), "given back: it was not read");
    assert!(dies_after(&FETCHED[..4]), "fetched");
    assert!(!dies_after(&WITHDRAWN[..3]), "taken back before it was typed");
}
