use anyhow::{Context, Result, ensure};
use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use super::{
    super::table::{Figure, median},
    begin, cpu_seconds, ended, up,
};

const STEPS: usize = 100;
const ROUNDS: usize = 5;
/// Of a step of the chain, in milliseconds; of all side by side, in seconds; of the processor, as
/// many times what make takes.
const CHAIN: f64 = 8.;
const WIDE: f64 = 0.6;
const CPU: f64 = 1.5;

/// Seconds by the clock and of the processor.
struct Took {
    wall: f64,
    cpu: f64,
}

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let workflows = [("chain", workflow("chain", true)), ("wide", workflow("wide", false))];
    let home = up(folder, vigie, &workflows).await?;
    let daemon = home.daemon_pid().context("the daemon is gone")?;
    let mut figures = Vec::new();
    for (name, chained) in [("chain", true), ("wide", false)] {
        fs::write(home.project().join(format!("{name}.mk")), makefile(chained))?;
        let (mut ours, mut make) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            make.push(made(&home.project(), name)?);
            let (start, before) = (Instant::now(), cpu_seconds(daemon)?);
            let run = begin(&home, name).await?;
            ended(&home, &run).await?;
            let wall = start.elapsed().as_secs_f64();
            ours.push(Took { wall, cpu: cpu_seconds(daemon)? - before });
        }
        let middle = |took: &[Took], of: fn(&Took) -> f64| {
            median(&mut took.iter().map(of).collect::<Vec<_>>())
        };
        let (wall, by_make) = (middle(&ours, |took| took.wall), middle(&make, |took| took.wall));
        #[expect(clippy::cast_precision_loss, reason = "a hundred")]
        let steps = STEPS as f64;
        figures.push(if chained {
            Figure::new("a step of a chain of 100, on disk", wall * 1000. / steps, "ms")
                .at_most(CHAIN)
        } else {
            Figure::new("100 steps side by side, on disk", wall, "s").at_most(WIDE)
        });
        let what = format!("the same ({name}) as targets");
        figures.push(Figure::new(what, wall, "s").against("make -j2", by_make));
        let cpu = middle(&ours, |took| took.cpu);
        let what = format!("processor for that ({name})");
        let make_cpu = middle(&make, |took| took.cpu);
        figures.push(Figure::new(what, cpu, "s").against("make -j2", make_cpu).at_most(CPU));
    }
    home.down().await?;
    Ok(figures)
}

fn workflow(name: &str, chained: bool) -> String {
    let mut text = format!("name: {name}\nlimits: {{parallel: 8}}\nsteps:\n");
    for step in 0..STEPS {
        let needs = if chained && step > 0 { format!("s{}", step - 1) } else { String::new() };
        let _ = writeln!(text, "  - {{id: s{step}, needs: [{needs}], shell: \"true\"}}"); // a String takes everything
    }
    text
}

fn makefile(chained: bool) -> String {
    let mut text = "SHELL = /bin/sh\nall:".to_owned();
    (0..STEPS).for_each(|step| {
        let _ = write!(text, " s{step}");
    });
    text.push('\n');
    for step in 0..STEPS {
        let needs = if chained && step > 0 { format!("s{}", step - 1) } else { String::new() };
        // Without the colon make would leave the shell out.
        let _ = write!(text, ".PHONY: s{step}\ns{step}: {needs}\n\t@:;true\n");
    }
    text
}

/// What GNU make takes for the same.
fn made(project: &Path, name: &str) -> Result<Took> {
    use nix::sys::{resource, time::TimeValLike as _};
    let used = || -> Result<f64> {
        let usage = resource::getrusage(resource::UsageWho::RUSAGE_CHILDREN)?;
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        #[expect(clippy::cast_precision_loss, reason = "seconds, not years")]
        Ok(micros as f64 / 1e6)
    };
    let (start, before) = (Instant::now(), used()?);
    let status = Command::new("make")
        .args(["-j2", "-s", "-f", &format!("{name}.mk")])
        .current_dir(project)
        .stdout(Stdio::null())
        .status()
        .context("there is no make to compare with")?;
    ensure!(status.success(), "make failed");
    Ok(Took { wall: start.elapsed().as_secs_f64(), cpu: used()? - before })
}
