//! Random workflows, random outcomes, and an owner that dies at random: a run ends as a model says
//! that knows nothing of logs.

mod drive;
mod model;

use proptest::prelude::*;

use super::build::*;
use crate::{language::OnCrash, language::Step};

#[derive(Clone, Debug)]
struct Spec {
    what: Does,
    /// Of those before it.
    needs: Vec<usize>,
    only_if: Option<If>,
    always: bool,
    goes_on: bool,
    retries: u32,
    on_crash: OnCrash,
}

#[derive(Clone, Debug)]
enum Does {
    /// Fails that often, then ends well.
    Work {
        fails: u32,
    },
    /// Asks a person on the way.
    Agent,
    Sleep,
    Condition(bool),
    /// Says so; before that somebody sends it back to that step.
    Approval {
        yes: bool,
        back: Option<usize>,
    },
    Foreach {
        rounds: usize,
        parallel: u32,
        inner: Vec<Spec>,
    },
}

#[derive(Clone, Copy, Debug)]
enum If {
    Is(bool),
    /// The first step it needs ended well.
    NeedOk,
}

fn id(place: usize) -> String {
    format!("s{place}")
}

fn steps(specs: &[Spec]) -> Vec<Step> {
    specs.iter().enumerate().map(|(place, spec)| build(place, spec)).collect()
}

fn build(place: usize, spec: &Spec) -> Step {
    let id_here = id(place);
    let step = match &spec.what {
        Does::Work { .. } => shell(&id_here),
        Does::Agent => claude(&id_here, "Go"),
        Does::Sleep => sleep(&id_here, 30),
        Does::Condition(is_true) => condition(&id_here, &is_true.to_string()),
        Does::Approval { .. } => approval(&id_here),
        Does::Foreach { rounds, parallel, inner } => {
            foreach(&id_here, &format!("range({rounds})|list"), *parallel, steps(inner))
        }
    };
    let needs: Vec<_> = spec.needs.iter().map(|need| id(*need)).collect();
    let step = step.needs(&needs.iter().map(String::as_str).collect::<Vec<_>>());
    step.on_crash(spec.on_crash).with(|step| {
        step.always = spec.always;
        step.continue_on_error = spec.goes_on;
        let only_if = spec.only_if.map(|only_if| match (only_if, needs.first()) {
            (If::NeedOk, Some(need)) => format!("steps.{need}.ok"),
            (If::NeedOk, None) => "true".into(),
            (If::Is(is_true), _) => is_true.to_string(),
        });
        step.only_if = only_if.map(crate::template::Expr::new);
        if spec.retries > 0 {
            *step = step.clone().retry(spec.retries, 10);
        }
    })
}

fn does(depth: u32) -> BoxedStrategy<Does> {
    let leaf = prop_oneof![
        6 => prop_oneof![3 => Just(0_u32), 2 => 1..4_u32].prop_map(|fails| Does::Work { fails }),
        2 => Just(Does::Agent),
        1 => Just(Does::Sleep),
        1 => any::<bool>().prop_map(Does::Condition),
        2 => (any::<bool>(), proptest::option::weighted(0.4, 0..8_usize))
            .prop_map(|(yes, back)| Does::Approval { yes, back }),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let foreach = (0..4_usize, 1..3_u32, specs(depth - 1, 4))
        .prop_map(|(rounds, parallel, inner)| Does::Foreach { rounds, parallel, inner });
    prop_oneof![8 => leaf, 2 => foreach].boxed()
}

fn spec(depth: u32) -> impl Strategy<Value = Spec> {
    let only_if = prop_oneof![any::<bool>().prop_map(If::Is), Just(If::NeedOk)];
    let on_crash = prop_oneof![
        3 => Just(OnCrash::Retry),
        1 => Just(OnCrash::Fail),
        1 => Just(OnCrash::Ask),
    ];
    (
        does(depth),
        proptest::collection::vec(0..8_usize, 0..3),
        proptest::option::weighted(0.3, only_if),
        proptest::bool::weighted(0.15),
        proptest::bool::weighted(0.15),
        0..3_u32,
        on_crash,
    )
        .prop_map(|(what, needs, only_if, always, goes_on, retries, on_crash)| {
            let retries = if matches!(what, Does::Work { .. }) { retries } else { 0 };
            Spec { what, needs, only_if, always, goes_on, retries, on_crash }
        })
}

fn specs(depth: u32, most: usize) -> impl Strategy<Value = Vec<Spec>> {
    proptest::collection::vec(spec(depth), 1..=most).prop_map(|mut specs| {
        for (place, spec) in specs.iter_mut().enumerate() {
            // Only steps before it: so there is no circle.
            spec.needs.retain(|need| *need < place);
            spec.needs.sort_unstable();
            spec.needs.dedup();
            if let Does::Approval { back, .. } = &mut spec.what {
                *back = back.filter(|back| *back < place);
            }
        }
        specs
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_run_ends_as_the_model_says_whatever_dies_on_the_way(
        specs in specs(2, 8),
        parallel in 1..4_u32,
        choices in proptest::collection::vec(any::<u16>(), 0..300),
    ) {
        let mut drive = drive::Drive::new(&specs, parallel, choices);
        drive.finish();
        model::compare(&specs, &drive);
        drive.log_is_sound();
        drive.again();
        drive.log_is_sound();
    }

    #[test]
    fn a_stop_ends_a_run_wherever_it_is(
        specs in specs(2, 8),
        parallel in 1..4_u32,
        choices in proptest::collection::vec(any::<u16>(), 0..100),
    ) {
        let mut drive = drive::Drive::new(&specs, parallel, choices);
        drive.some_of_the_way();
        drive.stop();
        drive.finish();
        drive.log_is_sound();
    }
}
