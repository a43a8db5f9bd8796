//! Templates and expressions as they are met: their syntax is looked at at once, what they read when
//! all steps are known.

use crate::{
    template::{Expr, Reference, SourceError, Template},
    yaml::{Node, Span, Value},
};

use super::reader::{Fields, Reader, scalar};

/// Where a step stands: in which list of steps, and the how manyeth it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) scope: usize,
    /// `None`: it is about the workflow as a whole.
    pub(super) step: Option<usize>,
}

/// What may be read in a place besides `params` and `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The workflow's own `env` and `project`, before any step.
    Workflow { secrets: bool },
    /// A step: what it needs, and items.
    Step { secrets: bool },
    /// `expect`: its own `output` as well.
    Expect,
    /// `extract`: `response` as well.
    Response,
    /// Only `body` and `headers`.
    Call,
    /// The workflow's outputs: every step.
    Outputs,
}

pub(super) struct Use<'a> {
    pub(super) node: &'a Node,
    pub(super) at: At,
    pub(super) place: Place,
    pub(super) references: Vec<Reference>,
}

impl<'a> Reader<'a> {
    /// Reads a text with `{{ … }}`; nothing where none stands.
    pub(super) fn template(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
        at: At,
        place: Place,
    ) -> Option<Template> {
        let node = fields.get(name)?;
        self.text_of(node, name)?;
        Some(self.template_of(node, at, place))
    }

    pub(super) fn template_of(&self, node: &'a Node, at: At, place: Place) -> Template {
        let template = Template::new(if node.is_nothing() { "" } else { scalar(node) });
        self.foreign(node);
        self.take(node, at, place, template.references());
        template
    }

    pub(super) fn expr(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
        at: At,
        place: Place,
    ) -> Option<Expr> {
        let node = fields.get(name)?;
        self.text_of(node, name)?;
        self.expr_of(node, at, place)
    }

    pub(super) fn expr_of(&self, node: &'a Node, at: At, place: Place) -> Option<Expr> {
        let source = scalar(node);
        if matches!(node.value, Value::List(_) | Value::Map(_)) || source.trim().is_empty() {
            let what =
                format!("an expression is text such as `params.x == 1`, not {}", node.what());
            self.error(node.span, what);
            return None;
        }
        if source.contains("{{") || source.contains("${") {
            let hint = "it stands here without braces, such as `steps.review.json.ok`";
            self.hinted(node.span, "this is an expression already", hint);
            return None;
        }
        let expr = Expr::new(source.trim());
        // Counted in the text as it is written.
        let references = Expr::new(source).references();
        self.take(node, at, place, references);
        Some(expr)
    }

    fn take(
        &self,
        node: &'a Node,
        at: At,
        place: Place,
        references: Result<Vec<Reference>, SourceError>,
    ) {
        match references {
            Ok(references) if references.is_empty() => {}
            Ok(references) => self.uses.borrow_mut().push(Use { node, at, place, references }),
            Err(SourceError { error, at }) => {
                let span = at.map_or(node.span, |at| self.inside(node, &at));
                self.error(span, error.0);
            }
        }
    }

    /// `${steps.x}` and its kind are what other tools fill in; here it would stay as it is.
    fn foreign(&self, node: &'a Node) {
        let text = scalar(node);
        for root in ["steps", "params", "secrets", "run"] {
            let opening = format!("${{{root}.");
            let Some(start) = text.find(&opening) else { continue };
            let end = text[start..].find(['}', '\n']).map_or(text.len(), |end| start + end);
            let words = &text[start + 2..end];
            let at = start..(end + 1).min(text.len());
            let at = if text.is_char_boundary(at.end) { at } else { start..end };
            let what = format!("`${{{words}}}` is not filled in");
            let hint = match root {
                "steps" => format!("write `{{{{ {words} }}}}`; a step gives `text`, `json`, …"),
                _ => format!("write `{{{{ {words} }}}}`"),
            };
            self.hinted(self.inside(node, &at), what, hint);
        }
    }

    pub(super) fn span_in(&self, used: &Use<'a>, reference: &Reference) -> Span {
        self.inside(used.node, &reference.at)
    }
}
