//! Whether a step that says it is done kept what is expected of it. Nothing here believes anybody.

use globset::{Glob, GlobSet, GlobSetBuilder};
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use super::{Ended, Outcome, context::with_output, fill::is_read_only, state::State};
use crate::language::{Expect, Kind};

/// Paths that a sentence names before it counts the rest.
const NAMED: usize = 3;

/// What it gives by name, and why it failed after all.
pub(super) fn judge(state: &Arc<State>, node: usize, mut ended: Ended) -> Ended {
    if ended.outcome != Outcome::Done {
        return ended;
    }
    let judged = extract(state, node, &mut ended).and_then(|()| expected(state, node, &ended));
    if let Err(why) = judged {
        ended.outcome = Outcome::Failed { why };
    }
    ended
}

fn extract(state: &Arc<State>, node: usize, ended: &mut Ended) -> Result<(), String> {
    let Kind::Http(http) = &state.step(node).kind else { return Ok(()) };
    if http.extract.is_empty() {
        return Ok(());
    }
    let values = with_output(state, node, &Arc::new(ended.clone()));
    for (name, expr) in &http.extract {
        let value = expr
            .value(&values)
            .map_err(|error| format!("`{name}` cannot be read from the response: {error}"))?;
        ended.output.values.insert(name.clone(), value);
    }
    Ok(())
}

fn expected(state: &Arc<State>, node: usize, ended: &Ended) -> Result<(), String> {
    let step = state.step(node);
    let expect = &step.expect;
    match &ended.changed {
        None if expect.looks_at_changes() => {
            return Err(
                "what it changed could not be measured, and its `expect` asks for that".into()
            );
        }
        None => {}
        Some(changed) => {
            if is_read_only(step) && !changed.is_empty() {
                return Err(format!("it is read-only and changed {}", names(changed)));
            }
            changes(expect, changed)?;
        }
    }
    if expect.claimed.is_none() && expect.that.is_empty() {
        return Ok(());
    }
    let values = with_output(state, node, &Arc::new(ended.clone()));
    if let (Some(claimed), Some(changed)) = (&expect.claimed, &ended.changed) {
        let said = claimed
            .value(&values)
            .map_err(|error| format!("what it says it changed cannot be told: {error}"))?;
        compare(&claimed.source, &said, changed)?;
    }
    for that in &expect.that {
        let is_true = that
            .is_true(&values)
            .map_err(|error| format!("whether `{}` cannot be told: {error}", that.source))?;
        if !is_true {
            return Err(format!("it is expected that `{}`, and that is not so", that.source));
        }
    }
    Ok(())
}

fn changes(expect: &Expect, changed: &[String]) -> Result<(), String> {
    if let Some(only) = &expect.changed_only {
        let only_here = globs(only)?;
        let outside: Vec<_> =
            changed.iter().filter(|path| !only_here.is_match(clean(path))).collect();
        if !outside.is_empty() {
            return Err(format!("it changed {}, outside of {}", names(&outside), only.join(", ")));
        }
    }
    let kept = globs(&expect.unchanged)?;
    let touched: Vec<_> = changed.iter().filter(|path| kept.is_match(clean(path))).collect();
    if touched.is_empty() {
        Ok(())
    } else {
        Err(format!("it changed {}, which may not change", names(&touched)))
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = Glob::new(clean(pattern))
            .map_err(|error| format!("`{pattern}` is no pattern of paths: {}", error.kind()))?;
        set.add(glob);
    }
    set.build().map_err(|error| error.to_string())
}

fn compare(source: &str, said: &serde_json::Value, changed: &[String]) -> Result<(), String> {
    let said: Option<BTreeSet<&str>> = said
        .as_array()
        .and_then(|paths| paths.iter().map(|path| path.as_str().map(clean)).collect());
    let Some(said) = said else {
        return Err(format!(
            "`{source}` is no list of paths, so what it says it changed cannot be checked"
        ));
    };
    let changed: BTreeSet<&str> = changed.iter().map(|path| clean(path)).collect();
    let unsaid: Vec<_> = changed.difference(&said).collect();
    let undone: Vec<_> = said.difference(&changed).collect();
    let mut why = String::new();
    if !unsaid.is_empty() {
        let _ = write!(why, "it changed {} and does not say so", names(&unsaid)); // a String takes everything
    }
    if !undone.is_empty() {
        let and = if why.is_empty() { "" } else { "; " };
        let _ = write!(why, "{and}it says it changed {} and did not", names(&undone));
    }
    if why.is_empty() { Ok(()) } else { Err(why) }
}

fn clean(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

fn names<T: std::fmt::Display>(paths: &[T]) -> String {
    let named: Vec<_> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
