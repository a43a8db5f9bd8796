use super::*;
use vigie_core::Timestamp;

/// A typist, a clock and a box that behaves as told.
struct Scene {
    typist: Typist,
    now: Instant,
    gate: Gate,
    input: InputBox,
    screen: Vec<String>,
}

fn id(number: u128) -> PromptId {
    PromptId::from_parts(Timestamp::default(), number)
}

fn holds(text: &str) -> InputBox {
    InputBox::Holds(text.into())
}

impl Scene {
    fn new() -> Self {
        Self {
            typist: Typist::default(),
            now: Instant::now(),
            gate: Gate::Free,
            input: InputBox::Empty,
            screen: vec![],
        }
    }

    fn push(&mut self, number: u128, text: &str) {
        assert_eq!(self.typist.push(Prompt::new(id(number), text.into(), PromptForm::Text)), None);
    }

    fn after(&mut self, time: Duration) -> Vec<Act> {
        self.now += time;
        let sight = Sight { gate: self.gate, input: self.input.clone(), screen: &self.screen };
        self.typist.look(self.now, &sight)
    }

    /// Keys pressed and words said until nothing happens any more for a minute.
    fn settle(&mut self) -> Vec<Act> {
        (0..600).flat_map(|_| self.after(Duration::from_millis(100))).collect()
    }
}

fn paste(text: &str) -> Act {
    Act::Keys(format!("\x1b[200~{text}\x1b[201~").into_bytes())
}

fn key(bytes: &[u8]) -> Act {
    Act::Keys(bytes.into())
}

fn refused(number: u128, why: RefusedPrompt) -> Act {
    Act::Report(AgentEvent::PromptRefused { prompt: id(number), why })
}

#[test]
fn a_prompt_is_pasted_then_entered_then_taken() {
    let mut scene = Scene::new();
    scene.push(1, "[phone] hi");
    assert_eq!(scene.after(Duration::ZERO), [paste("[phone] hi")]);
    assert_eq!(scene.after(Duration::from_millis(20)), [], "not drawn yet");
    scene.input = holds("[phone] hi");
    assert_eq!(scene.after(Duration::from_millis(20)), [key(ENTER)]);
    let (_, event) = scene.typist.submitted("[phone] hi", None).unwrap();
    assert_eq!(event, AgentEvent::PromptTaken { prompt: id(1), turn: None });
    scene.input = InputBox::Empty;
    assert_eq!(scene.settle(), []);
}

#[test]
fn a_prompt_that_does_not_show_as_it_is_gets_time_to_arrive() {
    let mut scene = Scene::new();
    scene.push(1, "a\nb\nc\nd");
    scene.after(Duration::ZERO);
    scene.input = holds("[Pasted text #1 +3 lines]");
    assert_eq!(scene.after(BEFORE_ENTER.saturating_sub(Duration::from_millis(1))), []);
    assert_eq!(scene.after(Duration::from_millis(1)), [key(ENTER)]);
}

#[test]
fn an_enter_that_is_swallowed_is_pressed_twice_more_and_then_told() {
    let mut scene = Scene::new();
    scene.push(1, "a\nb\nc\nd");
    scene.after(Duration::ZERO);
    scene.input = holds("[Pasted text #1 +3 lines]");
    let acts = scene.settle();
    let no = refused(1, RefusedPrompt::NoSignal);
    assert_eq!(acts, [key(ENTER), key(ENTER), key(ENTER), no]);
}

#[test]
fn nothing_is_entered_while_a_dialog_is_open() {
    let mut scene = Scene::new();
    scene.push(1, "hi");
    scene.push(2, "ho");
    scene.after(Duration::ZERO);
    (scene.gate, scene.input) = (Gate::Closed(Held::Dialog), InputBox::Hidden);
    let held = Act::Report(AgentEvent::PromptHeld { prompt: id(2), why: Held::Dialog });
    assert_eq!(scene.settle(), [held], "said once");
    // The dialog swallowed the paste; the box is empty when it closes.
    (scene.gate, scene.input) = (Gate::Free, InputBox::Empty);
    assert_eq!(scene.after(2 * SHOWS_WITHIN), [paste("hi")]);
}

#[test]
fn a_paste_that_survives_a_dialog_is_not_pasted_again() {
    let mut scene = Scene::new();
    scene.push(1, "hi");
    scene.after(Duration::ZERO);
    (scene.gate, scene.input) = (Gate::Closed(Held::Busy), holds("hi"));
    assert_eq!(scene.settle(), []);
    scene.gate = Gate::Free;
    assert_eq!(scene.after(BEFORE_ENTER), [key(ENTER)]);
}

#[test]
fn a_draft_is_put_aside_first_and_a_placeholder_is_not_taken_for_one() {
    let mut scene = Scene::new();
    scene.push(1, "hi");
    scene.input = holds("somebody's draft");
    assert_eq!(scene.after(Duration::ZERO), [key(CTRL_S)]);
    scene.input = InputBox::Empty;
    assert_eq!(scene.after(Duration::from_millis(100)), [paste("hi")]);

    let mut scene = Scene::new();
    scene.push(1, "hi");
    scene.input = holds("Try \"fix the tests\"");
    assert_eq!(scene.after(Duration::ZERO), [key(CTRL_S)]);
    assert_eq!(scene.after(SHOWS_WITHIN), [paste("hi")]);
    assert_eq!(scene.after(Duration::from_millis(200)), [], "the paste does not show yet");
    scene.input = holds("hi");
    assert_eq!(scene.after(Duration::from_millis(100)), [key(ENTER)]);
}

#[test]
fn half_a_sentence_of_the_desk_never_goes_to_the_model() {
    let mut scene = Scene::new();
    scene.push(1, "[phone] hi");
    scene.after(Duration::ZERO);
    scene.input = holds("half a sen[phone] hi");
    assert_eq!(scene.after(BEFORE_ENTER), [key(CTRL_C)]);
    assert_eq!(scene.after(Duration::from_millis(100)), [], "not drawn yet");
    scene.input = InputBox::Empty;
    assert_eq!(scene.after(Duration::from_millis(100)), [paste("[phone] hi")]);
    // Whoever goes on typing is not fought with for ever.
    scene.input = holds("half a sen[phone] hi");
    assert_eq!(scene.settle(), [key(CTRL_C), refused(1, RefusedPrompt::NoSignal)]);
}

#[test]
fn prompts_go_in_one_after_the_other() {
    let mut scene = Scene::new();
    scene.push(1, "one");
    scene.push(2, "two");
    assert_eq!(scene.after(Duration::ZERO), [paste("one")]);
    scene.input = holds("one");
    assert_eq!(scene.after(BEFORE_ENTER), [key(ENTER)]);
    assert!(scene.typist.submitted("two", None).is_none(), "not typed yet");
    scene.typist.submitted("one", None).unwrap();
    scene.input = InputBox::Empty;
    assert_eq!(scene.after(Duration::from_millis(100)), [paste("two")]);
}

#[test]
fn a_late_word_still_counts() {
    let mut scene = Scene::new();
    scene.push(1, "hi");
    scene.after(Duration::ZERO);
    scene.input = holds("hi");
    scene.after(BEFORE_ENTER);
    scene.input = InputBox::Empty;
    assert_eq!(scene.settle(), [refused(1, RefusedPrompt::NoSignal)]);
    assert!(scene.typist.submitted("hi", None).is_some());
    assert!(scene.typist.submitted("hi", None).is_none(), "once");
}

#[test]
fn a_command_is_taken_when_its_box_empties_and_refused_when_unknown() {
    let command = |text: &str| Prompt::new(id(1), text.into(), PromptForm::Command);
    let mut scene = Scene::new();
    scene.typist.push(command("/compact"));
    scene.after(Duration::ZERO);
    scene.input = holds("/compact");
    assert_eq!(scene.after(BEFORE_ENTER), [key(ENTER)]);
    scene.input = InputBox::Empty;
    let taken = Act::Report(AgentEvent::PromptTaken { prompt: id(1), turn: None });
    assert_eq!(scene.settle(), [taken]);

    let mut scene = Scene::new();
    scene.typist.push(command("/nosuch"));
    scene.after(Duration::ZERO);
    scene.input = holds("/nosuch");
    scene.after(BEFORE_ENTER);
    (scene.input, scene.gate) = (InputBox::Empty, Gate::Closed(Held::Busy));
    assert_eq!(scene.after(BEFORE_ENTER), [], "busy for a moment, and that says nothing");
    (scene.gate, scene.screen) = (Gate::Free, vec!["● Unknown command: /nosuch".into()]);
    let reason = "it does not know the command /nosuch".into();
    assert_eq!(scene.settle(), [refused(1, RefusedPrompt::ByAgent { reason })]);
}

#[test]
fn what_was_not_pasted_can_be_withdrawn() {
    let mut scene = Scene::new();
    scene.gate = Gate::Closed(Held::Busy);
    scene.push(1, "hi");
    let gone = AgentEvent::PromptRefused { prompt: id(1), why: RefusedPrompt::Withdrawn };
    assert_eq!(scene.typist.withdraw(id(1)), Some(gone));
    scene.gate = Gate::Free;
    assert_eq!(scene.settle(), []);
    scene.push(2, "ho");
    scene.after(Duration::ZERO);
    assert_eq!(scene.typist.withdraw(id(2)), None, "it is in the box already");
}

#[test]
fn a_full_queue_refuses_and_an_empty_prompt_is_no_prompt() {
    let mut scene = Scene::new();
    scene.gate = Gate::Closed(Held::Busy);
    for number in 0..QUEUE {
        scene.push(number as u128, "hi");
    }
    assert!(scene.typist.push(Prompt::new(id(999), "hi".into(), PromptForm::Text)).is_some());
    let empty = Prompt::new(id(998), " \n".into(), PromptForm::Text);
    let why = RefusedPrompt::Empty;
    assert_eq!(
        Typist::default().push(empty),
        Some(AgentEvent::PromptRefused { prompt: id(998), why })
    );
}

#[test]
fn a_program_that_dies_leaves_no_prompt_without_an_end() {
    let mut scene = Scene::new();
    scene.push(1, "one");
    scene.push(2, "two");
    scene.after(Duration::ZERO);
    scene.input = holds("one");
    scene.after(BEFORE_ENTER);
    let told = scene.typist.gone();
    assert_eq!(
        told.into_iter().map(Act::Report).collect::<Vec<_>>(),
        [refused(1, RefusedPrompt::NoSignal), refused(2, RefusedPrompt::Gone),]
    );
}
