//! A workflow's text to a checked [`Workflow`], or to everything that is wrong with it.

mod graph;
mod hints;
mod kinds;
mod nested;
mod people;
mod reader;
mod references;
mod scope;
mod shell;
mod step;
mod top;
mod uses;

#[cfg(test)]
mod tests;

use reader::Reader;
use scope::Scopes;

use crate::{
    keys::WORKFLOW,
    language::Workflow,
    problem::{Problem, Problems, Severity},
    value::WorkflowName,
    yaml,
};

/// Largest text of a workflow, in bytes.
pub const LARGEST: usize = 1024 * 1024;

/// Reads a workflow. `neighbours` reads a file that lies beside the workflow's, by its relative path.
///
/// There is a workflow only where no problem is an error; where there are errors it is every one that
/// can be told from the text.
pub fn parse(
    bytes: &[u8],
    neighbours: &dyn Fn(&str) -> Result<String, String>,
) -> (Option<Workflow>, Problems) {
    if bytes.len() > LARGEST {
        let what = format!("the file has {} bytes, and a workflow at most {LARGEST}", bytes.len());
        return (None, one(0, 0, what, None));
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return (None, not_text(bytes, error.valid_up_to())),
    };
    let (root, faults) = yaml::read(text);
    let reader = Reader::new(text, neighbours);
    for fault in faults {
        reader.problem(Severity::Error, fault.span, fault.what, fault.hint);
    }
    let workflow = match &root {
        Some(root) if !root.is_nothing() => workflow(&reader, root),
        Some(_) | None => None,
    };
    let mut all = reader.problems();
    all.sort_by_key(|problem| (problem.line, problem.column));
    if all.len() > reader::MOST_PROBLEMS {
        all.truncate(reader::MOST_PROBLEMS);
        let what = "there is more, which is left out here".into();
        all.extend(one(0, 0, what, Some("mend some of these and check again".into())).all);
    }
    let problems = Problems { all };
    if workflow.is_none() && !problems.has_errors() {
        let hint = Some("it starts with `name: …` and has `steps:`".into());
        return (None, one(1, 1, "there is no workflow in this file".into(), hint));
    }
    (workflow.filter(|_| !problems.has_errors()), problems)
}

fn workflow<'a>(reader: &Reader<'a>, root: &'a yaml::Node) -> Option<Workflow> {
    let fields = reader.fields(root, &WORKFLOW)?;
    let name = reader.name::<WorkflowName>(&fields, "name", "name of a workflow");
    let params = top::params(reader, &fields);
    let secrets = top::secrets(reader, &fields);
    let on = top::triggers(reader, &fields, &params);
    let mut scopes = Scopes::default();
    let env = top::own_env(reader, &fields);
    let steps = fields.get("steps");
    let steps = steps.map(|node| step::steps(reader, &mut scopes, node, None, None));
    let project = top::project(reader, &fields);
    let outputs = top::outputs(reader, &fields);
    let graph = graph::check(reader, &mut scopes);
    references::check(reader, &fields, &scopes, &graph, &params, &secrets, &env, &on);
    let text = |name| reader.text(&fields, name).unwrap_or_default().to_owned();
    Some(Workflow {
        title: text("title"),
        description: text("description"),
        project,
        params,
        on,
        limits: top::limits(reader, &fields),
        env,
        secrets,
        outputs,
        name: name?,
        steps: steps?,
    })
}

fn one(line: usize, column: usize, what: String, hint: Option<String>) -> Problems {
    let severity = Severity::Error;
    Problems { all: vec![Problem { severity, line, column, width: 1, what, hint }] }
}

/// Points at the first byte that is no UTF-8.
fn not_text(bytes: &[u8], at: usize) -> Problems {
    let (before, after) = bytes.split_at(at);
    let before = String::from_utf8_lossy(before);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let byte = after.first().copied().unwrap_or_default();
    let what = format!("the byte 0x{byte:02x} here is no UTF-8");
    one(line, column, what, Some("save the file as UTF-8".into()))
}
