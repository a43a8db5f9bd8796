//! What templates and expressions read, held to what there is to read where they stand.

use std::collections::HashSet;

use super::{
    graph::{Graph, elsewhere},
    reader::{Fields, Reader, scalar},
    scope::{Scopes, Seen},
    uses::{Place, Use},
};
use crate::{
    language::{Param, Triggers},
    nearest::nearest,
    problem::Severity,
    template::{self, Reference, Template},
    value::SecretName,
    yaml::{Span, shortened},
};

/// What every step gives.
pub(super) const GIVEN: [&str; 10] =
    ["text", "json", "exit_code", "status", "ok", "why", "cut", "files", "changed", "spent"];
const RUN: [&str; 8] = ["id", "number", "started", "trigger", "by", "name", "spent", "sent_back"];
const RESPONSE: [&str; 4] = ["status", "headers", "text", "json"];

struct Check<'c, 'a> {
    reader: &'c Reader<'a>,
    scopes: &'c Scopes<'a>,
    graph: &'c Graph,
    params: &'c [Param],
    secrets: &'c [SecretName],
    env: &'c [(String, Template)],
    /// Params that something reads; `None`: something reads all of them.
    read_params: Option<HashSet<String>>,
    read_secrets: HashSet<String>,
}

#[expect(clippy::too_many_arguments, reason = "all that a workflow declares")]
pub(super) fn check<'a>(
    reader: &Reader<'a>,
    fields: &Fields<'a>,
    scopes: &Scopes<'a>,
    graph: &Graph,
    params: &[Param],
    secrets: &[SecretName],
    env: &[(String, Template)],
    on: &Triggers,
) {
    let uses = reader.uses.take();
    let mut check = Check {
        reader,
        scopes,
        graph,
        params,
        secrets,
        env,
        read_params: Some(HashSet::new()),
        read_secrets: on.webhook.iter().map(|hook| hook.secret.to_string()).collect(),
    };
    for used in &uses {
        check.all_of(used);
    }
    check.unread(fields);
}

impl<'a> Check<'_, 'a> {
    fn all_of(&mut self, used: &Use<'a>) {
        let mut minus = None;
        for reference in &used.references {
            if self.reader.is_full() {
                return;
            }
            // `steps.code-review.text` is a subtraction, and was told as a whole.
            if minus == Some(reference.at.start) {
                continue;
            }
            minus = self.subtraction(used, reference);
            if minus.is_none() {
                self.one(used, reference);
            }
        }
    }

    fn one(&mut self, used: &Use<'a>, reference: &Reference) {
        let root = reference.root.as_str();
        let call = used.place == Place::Call;
        match root {
            "params" if !call => self.param(used, reference),
            "run" if !call => self.part(used, reference, &RUN),
            "secrets" if !call => self.secret(used, reference),
            "env" if !call && !matches!(used.place, Place::Workflow { .. }) => {
                self.own_env(used, reference);
            }
            "steps" if !matches!(used.place, Place::Workflow { .. } | Place::Call) => {
                self.step(used, reference);
            }
            "output" if matches!(used.place, Place::Expect | Place::Response) => {
                let seen = used.at.step.map(|step| &self.scopes.all[used.at.scope].steps[step]);
                if let Some(seen) = seen {
                    self.given(used, reference, seen, &reference.path);
                }
            }
            "response" if used.place == Place::Response => self.part(used, reference, &RESPONSE),
            "body" | "headers" if call => {}
            "index" if self.is_inside(used) => {}
            _ if self.is_item(used, root) || template::functions().any(|name| name == root) => {}
            _ => self.unknown(used, reference),
        }
    }

    fn span(&self, used: &Use<'a>, reference: &Reference) -> Span {
        self.reader.span_in(used, reference)
    }

    fn is_inside(&self, used: &Use<'a>) -> bool {
        used.at.step.is_some() && self.scopes.all[used.at.scope].parent.is_some()
    }

    fn is_item(&self, used: &Use<'a>, name: &str) -> bool {
        used.at.step.is_some()
            && self.scopes.around(used.at.scope).any(|around| around.item == Some(name))
    }

    fn unknown(&self, used: &Use<'a>, reference: &Reference) {
        let root = reference.root.as_str();
        let span = self.span(used, reference);
        let mut there = match used.place {
            Place::Workflow { .. } => vec!["params", "run"],
            Place::Call => vec!["body", "headers"],
            Place::Step { .. } => vec!["params", "steps", "run", "env"],
            Place::Expect => vec!["output", "params", "steps", "run", "env"],
            Place::Response => vec!["response", "output", "params", "steps", "run", "env"],
            Place::Outputs => vec!["steps", "params", "run", "env"],
        };
        if used.at.step.is_some() {
            there.extend(self.scopes.around(used.at.scope).filter_map(|around| around.item));
        }
        let known = ["steps", "env", "secrets", "output", "response", "index"].contains(&root);
        let what = if known {
            format!("`{root}` cannot be read here")
        } else {
            format!("there is nothing called `{}` to read", shortened(root))
        };
        let step = used.at.step.is_some() && self.scopes.all[used.at.scope].ids.contains_key(root);
        let hint = match nearest(root, there.iter().copied()) {
            _ if step => format!("a step is read as `steps.{root}`"),
            Some(near) if near != root => format!("did you mean `{near}`?"),
            _ if reference.path.is_empty() && !known => {
                format!(
                    "text stands in quotes: \"{}\"; there are: {}",
                    shortened(root),
                    there.join(", ")
                )
            }
            _ => format!("there are: {}", there.join(", ")),
        };
        self.reader.hinted(span, what, hint);
    }

    /// The first part of what is read has to be one of these.
    fn part(&self, used: &Use<'a>, reference: &Reference, known: &[&'static str]) {
        let Some(part) = reference.path.first() else { return };
        if !known.contains(&part.as_str()) {
            let what = format!("`{}` has no `{}`", reference.root, shortened(part));
            self.reader.hinted(
                self.span(used, reference),
                what,
                meant(part, known.iter().copied()),
            );
        }
    }

    fn param(&mut self, used: &Use<'a>, reference: &Reference) {
        let Some(name) = reference.path.first() else {
            self.read_params = None; // as a whole, or by a computed name
            return;
        };
        if let Some(read) = &mut self.read_params {
            read.insert(name.clone());
        }
        if !self.params.iter().any(|param| param.name.as_str() == name) {
            let what = format!("there is no param `{}`", shortened(name));
            let hint = match nearest(name, self.params.iter().map(|param| param.name.as_str())) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it under `params` of the workflow".into(),
            };
            self.reader.hinted(self.span(used, reference), what, hint);
        }
    }

    fn secret(&mut self, used: &Use<'a>, reference: &Reference) {
        let span = self.span(used, reference);
        let allowed =
            matches!(used.place, Place::Workflow { secrets: true } | Place::Step { secrets: true });
        let name = reference.path.first();
        self.read_secrets.extend(name.cloned());
        let Some(name) = name.filter(|_| reference.path.len() == 1 && !reference.computed) else {
            self.reader.error(span, "a secret is read by its name: `{{ secrets.NAME }}`");
            return;
        };
        if !allowed {
            let hint = "secrets stand in values of `env` and in `url`, `headers`, `body` and `json` of a request";
            self.reader.hinted(span, format!("the secret `{name}` cannot stand here"), hint);
            return;
        }
        if !reference.alone {
            let what = "a secret stands alone between its braces: nothing can be computed of it";
            self.reader.hinted(span, what, format!("write `{{{{ secrets.{name} }}}}`"));
        }
        if !self.secrets.iter().any(|secret| secret.as_str() == name) {
            let what = format!("the secret `{}` is not declared", shortened(name));
            let hint = match nearest(name, self.secrets.iter().map(SecretName::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("add `secrets: [{name}]` to the workflow"),
            };
            self.reader.hinted(span, what, hint);
        }
    }

    /// The workflow's own variables; one with a secret in it is for programs alone.
    fn own_env(&self, used: &Use<'a>, reference: &Reference) {
        let Some(name) = reference.path.first() else { return };
        let span = self.span(used, reference);
        match self.env.iter().find(|(known, _)| known == name) {
            None => {
                let what = format!("the workflow's `env` has no `{}`", shortened(name));
                let hint = match nearest(name, self.env.iter().map(|(name, _)| name.as_str())) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "declare it under `env` of the workflow".into(),
                };
                self.reader.hinted(span, what, hint);
            }
            Some((_, value)) => {
                let read = value.references().unwrap_or_default();
                if read.iter().any(|read| read.root == "secrets") {
                    let what = format!("`env.{name}` holds a secret, which cannot stand here");
                    self.reader.error(span, what);
                }
            }
        }
    }

    fn step(&self, used: &Use<'a>, reference: &Reference) {
        let span = self.span(used, reference);
        let Some(id) = reference.path.first() else {
            if reference.computed {
                let what = "a step is read by its id, such as `steps.review.text`";
                self.reader.error(span, what);
            } else {
                self.reader.error(span, "`steps` as a whole cannot be read");
            }
            return;
        };
        let Some((scope, number, from)) = self.found(used, id) else {
            let what = format!("there is no step `{}`", shortened(id));
            let hint = inside_of(self.scopes, id);
            let hint = hint.or_else(|| elsewhere(self.scopes, used.at.scope, id));
            self.reader.problem(Severity::Error, span, what, hint);
            return;
        };
        let seen = &self.scopes.all[scope].steps[number];
        let reader_step = from.map(|from| &self.scopes.all[scope].steps[from]);
        let own = from == Some(number);
        if own && used.place == Place::Expect {
            self.reader.hinted(
                span,
                "a step reads what it gives itself as `output`",
                "write `output` for it",
            );
        } else if own {
            let what = format!("`{id}` is not over when this is read");
            self.reader.error(span, what);
        } else if let Some(from) = from
            && !self.graph.is_before(self.scopes, scope, number, from)
        {
            let step = reader_step.map_or("", |step| step.id);
            let what = format!("`{step}` reads `{id}` and does not need it");
            self.reader.hinted(span, what, format!("add `{id}` to `needs` of `{step}`"));
        }
        if self.given(used, reference, seen, &reference.path[1..]) {
            self.may_be_nothing(used, reference, seen, span);
        }
    }

    /// `steps.code-review.text` is `steps.code` less `review.text`. Where a name with a `-` was meant,
    /// says so and gives where the rest of it begins.
    fn subtraction(&self, used: &Use<'a>, reference: &Reference) -> Option<usize> {
        let rest = &scalar(used.node)[reference.at.end..];
        let (above, last) = reference.path.split_last().map(|(last, above)| (above, last))?;
        if !rest.starts_with('-') {
            return None;
        }
        let length = rest.bytes().take_while(|c| c.is_ascii_alphanumeric() || b"_-".contains(c));
        let long = format!("{last}{}", &rest[..length.count()]);
        let is_name = match (reference.root.as_str(), above) {
            ("params", []) => self.params.iter().any(|param| param.name.as_str() == long),
            ("secrets", []) => self.secrets.iter().any(|secret| secret.as_str() == long),
            ("steps", []) => self.found(used, &long).is_some(),
            ("steps", [id]) => {
                let found = self.found(used, id);
                let gives = found.and_then(|(scope, number, _)| {
                    self.scopes.all[scope].steps[number].gives.as_ref()
                });
                gives.is_some_and(|gives| gives.contains(&long.as_str()))
            }
            _ => false,
        };
        if !is_name {
            return None;
        }
        let above: String = std::iter::once(reference.root.as_str())
            .chain(above.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(".");
        let what = format!("`{above}.{long}` is a subtraction, because of the `-` in `{long}`");
        let hint = format!("write `{above}[\"{long}\"]`");
        self.reader.hinted(self.span(used, reference), what, hint);
        Some(reference.at.end + 1)
    }

    /// The step of that id as it is seen from there: its list, its number, and the step of that list that
    /// reads it. Those beside it come first, then those around it.
    fn found(&self, used: &Use<'a>, id: &str) -> Option<(usize, usize, Option<usize>)> {
        let (mut scope, mut from) = (used.at.scope, used.at.step);
        while let Some(here) = self.scopes.all.get(scope) {
            if let Some(number) = here.ids.get(id) {
                return Some((scope, *number, from));
            }
            let above = here.parent?;
            (scope, from) = (above.scope, above.step);
        }
        None
    }

    /// Whether a step gives what is read of it; says so if not.
    fn given(
        &self,
        used: &Use<'a>,
        reference: &Reference,
        seen: &Seen<'a>,
        path: &[String],
    ) -> bool {
        let Some(part) = path.first() else { return true };
        let Some(own) = &seen.gives else { return true };
        if GIVEN.contains(&part.as_str()) || own.iter().any(|given| given == part) {
            return true;
        }
        let what = format!("a step with `{}` gives no `{}`", seen.kind, shortened(part));
        let known = own.iter().copied().chain(GIVEN);
        self.reader.hinted(self.span(used, reference), what, meant(part, known));
        false
    }

    /// Warns where a step may be left out and nobody thought of it.
    fn may_be_nothing(&self, used: &Use<'a>, reference: &Reference, seen: &Seen<'a>, span: Span) {
        let own_if =
            used.at.step.is_some_and(|step| self.scopes.all[used.at.scope].steps[step].has_if);
        let fine = reference.path.get(1).is_none_or(|part| part == "status" || part == "ok");
        let source = scalar(used.node);
        let thought_of =
            ["default", " or ", " is ", " if ", "{% if"].iter().any(|words| source.contains(words));
        if seen.has_if && !own_if && !fine && !thought_of {
            let read = &scalar(used.node)[reference.at.clone()];
            let what =
                format!("`{}` may be left out by its `if`, and then `{read}` is nothing", seen.id);
            let hint = Some(format!("`{read} or \"…\"` says what then"));
            self.reader.problem(Severity::Warning, span, what, hint);
        }
    }

    /// Only where everything could be read: what is wrong may be what reads it.
    fn unread(&self, fields: &Fields<'a>) {
        if self.reader.has_errors() {
            return;
        }
        for (key, _) in Reader::entries_of(fields, "params") {
            let read = self.read_params.as_ref().is_none_or(|read| read.contains(&key.text));
            if !read {
                let what = format!("nothing reads the param `{}`", shortened(&key.text));
                self.reader.problem(Severity::Warning, key.span, what, None);
            }
        }
        for node in Reader::items_of(fields, "secrets") {
            let name = scalar(node);
            if !self.read_secrets.contains(name) {
                let what = format!("nothing uses the secret `{}`", shortened(name));
                let hint = Some("take it out of `secrets`, so that no step can".into());
                self.reader.problem(Severity::Warning, node.span, what, hint);
            }
        }
    }
}

fn inside_of(scopes: &Scopes<'_>, id: &str) -> Option<String> {
    let holder = scopes.all.iter().skip(1).find(|scope| scope.ids.contains_key(id))?.parent?;
    let holder = scopes.all[holder.scope].steps.get(holder.step?)?.id;
    Some(format!(
        "it stands inside of `{holder}`; outside `steps.{holder}.results` has it, a round each"
    ))
}

fn meant<'n>(word: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are: {}", known.collect::<Vec<_>>().join(", ")),
    }
}
