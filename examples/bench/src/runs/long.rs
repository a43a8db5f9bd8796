use anyhow::{Context, Result};
use std::{fmt::Write as _, path::Path, time::Instant};

use super::{
    super::{start::Memory, table::Figure},
    begin, ended, up,
};

const SHORT: usize = 2_500;
const LONG: usize = 10_000;

/// Steps that only the engine and the disk have work with, so that what is measured is what grows.
pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let workflows = [("short", workflow("short", SHORT)), ("long", workflow("long", LONG))];
    let home = up(folder, vigie, &workflows).await?;
    let daemon = home.daemon_pid().context("the daemon is gone")?;
    let mut took = Vec::new();
    for name in ["short", "long"] {
        let (start, before) = (Instant::now(), Memory::of(daemon)?.private);
        let run = begin(&home, name).await?;
        ended(&home, &run).await?;
        let grew = Memory::of(daemon)?.private - before;
        took.push((start.elapsed().as_secs_f64(), grew));
    }
    home.down().await?;
    let (short, long) = (took[0], took[1]);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let times = (LONG / SHORT) as f64;
    Ok(vec![
        Figure::new(format!("a run of {LONG} steps"), long.0, "s")
            .against(format!("{times} times one of {SHORT}"), short.0 * times),
        Figure::new(format!("memory for {LONG} steps"), long.1, "MB"),
    ])
}

fn workflow(name: &str, steps: usize) -> String {
    let mut text = format!("name: {name}\nsteps:\n");
    for step in 0..steps {
        let needs = if step > 0 { format!("s{}", step - 1) } else { String::new() };
        let _ = writeln!(text, "  - {{id: s{step}, needs: [{needs}], condition: \"true\"}}"); // a String takes everything
    }
    text
}
