//! Lists of steps as they are met: which ids there are, and what stands in what.

use std::collections::HashMap;

use super::{reader::Reader, uses::At};
use crate::{language::MOST_STEPS, value::StepId, yaml::Span};

/// One list of steps: the workflow's own, or those of a `foreach`.
pub(super) struct Scope<'a> {
    /// The `foreach` it stands in.
    pub(super) parent: Option<At>,
    /// What an item is called inside.
    pub(super) item: Option<&'a str>,
    pub(super) steps: Vec<Seen<'a>>,
    pub(super) ids: HashMap<&'a str, usize>,
    /// By id in small letters.
    folded: HashMap<String, usize>,
}

/// What the checks need to know of a step.
pub(super) struct Seen<'a> {
    pub(super) id: &'a str,
    pub(super) span: Span,
    pub(super) needs: Vec<(&'a str, Span)>,
    /// The same, those that exist, by number.
    pub(super) before: Vec<usize>,
    pub(super) kind: &'static str,
    pub(super) has_if: bool,
    pub(super) goes_on: Option<(StepId, Span)>,
    /// Whether there is a conversation to go on with.
    pub(super) converses: bool,
    pub(super) send_back: Option<(StepId, Span)>,
    /// What it gives besides what every step does; `None`: that cannot be told.
    pub(super) gives: Option<Vec<&'a str>>,
}

#[derive(Default)]
pub(super) struct Scopes<'a> {
    pub(super) all: Vec<Scope<'a>>,
    pub(super) count: usize,
}

impl<'a> Scopes<'a> {
    pub(super) fn open(&mut self, parent: Option<At>, item: Option<&'a str>) -> usize {
        let (steps, ids, folded) = (Vec::new(), HashMap::new(), HashMap::new());
        self.all.push(Scope { parent, item, steps, ids, folded });
        self.all.len() - 1
    }

    /// The list it stands in, and those around that.
    pub(super) fn around(&self, scope: usize) -> impl Iterator<Item = &Scope<'a>> {
        let first = self.all.get(scope);
        std::iter::successors(first, |scope| self.all.get(scope.parent?.scope))
    }

    /// Takes a step in; two that are called the same are an error, also where only the case differs:
    /// files are called after them, and people type them on a phone.
    pub(super) fn add(
        &mut self,
        reader: &Reader<'a>,
        scope: usize,
        id: &'a str,
        span: Span,
    ) -> usize {
        self.count += 1;
        if self.count == MOST_STEPS + 1 {
            reader.error(span, format!("more than {MOST_STEPS} steps"));
        }
        let outer = self.around(scope).skip(1).find_map(|around| around.span_of(id));
        let here = &mut self.all[scope];
        let number = here.steps.len();
        if !id.is_empty() {
            let folded = id.to_lowercase();
            let first = here.folded.get(&folded).map(|first| &here.steps[*first]);
            if let Some(first) = first {
                let (one, other) = (first.span.line, span.line);
                if first.id == id {
                    let what = format!("duplicate id `{id}` at lines {one} and {other}");
                    reader.hinted(span, what, "call one of them otherwise");
                } else {
                    let what = format!(
                        "the ids `{}` (line {one}) and `{id}` (line {other}) differ only by case",
                        first.id
                    );
                    reader.hinted(span, what, "call one of them otherwise");
                }
            } else if let Some(outer) = outer {
                let what = format!(
                    "`{id}` is also the id of a step around this `foreach`, at line {}",
                    outer.line
                );
                reader.hinted(span, what, "call one of them otherwise");
            }
            here.folded.entry(folded).or_insert(number);
            here.ids.entry(id).or_insert(number);
        }
        here.steps.push(Seen {
            id,
            span,
            needs: Vec::new(),
            before: Vec::new(),
            kind: "",
            has_if: false,
            goes_on: None,
            converses: false,
            send_back: None,
            gives: Some(Vec::new()),
        });
        number
    }
}

impl Scope<'_> {
    fn span_of(&self, id: &str) -> Option<Span> {
        self.ids.get(id).map(|number| self.steps[*number].span)
    }
}
