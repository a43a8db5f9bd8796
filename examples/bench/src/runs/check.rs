use anyhow::{Result, ensure};
use std::{fmt::Write as _, time::Instant};

use super::super::table::{Figure, median};

const LINES: usize = 5_000;
const ROUNDS: usize = 9;
/// In milliseconds.
const AT_MOST: f64 = 50.;

pub(super) fn measure() -> Result<Vec<Figure>> {
    let text = text(LINES);
    let check = || {
        let start = Instant::now();
        let (workflow, problems) =
            vigie_workflow::parse(text.as_bytes(), &|_| Err("there is none".into()));
        ensure!(workflow.is_some(), "{}", problems.render("long.yaml", &text));
        Ok(start.elapsed().as_secs_f64() * 1000.)
    };
    let mut times = (0..ROUNDS).map(|_| check()).collect::<Result<Vec<_>>>()?;
    let what = format!("a workflow of {LINES} lines checked");
    Ok(vec![Figure::new(what, median(&mut times), "ms").at_most(AT_MOST)])
}

/// Steps of five lines each, as people write them.
fn text(lines: usize) -> String {
    let mut text =
        "name: long\nparams: {target: {type: string, default: staging}}\nsteps:\n".to_owned();
    for step in 0..(lines - 3) / 5 {
        let needs = if step == 0 { String::new() } else { format!("s{}", step - 1) };
        // A String takes everything.
        let _ = write!(
            text,
            "  - id: s{step}\n    needs: [{needs}]\n    timeout: 10m\n    env: {{TARGET: \"{{{{ params.target }}}}\"}}\n    shell: make -C part-{step} \"$TARGET\"\n",
        );
    }
    text
}
