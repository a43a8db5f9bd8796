//! `vigie doctor`.

use super::{
    Desk,
    failure::Failure,
    out::{Ink, Out},
    plain,
};
use crate::{
    config::Named,
    doctor::{Finding, Level, examine},
};

pub(super) async fn run(named: bool, desk: &Desk) -> Result<(), Failure> {
    let named = if named { Named::Yes } else { Named::No };
    let findings = examine(&desk.around, named, &desk.clock).await;
    desk.out.show(&findings, |out, findings| words(out, findings))?;
    match findings.iter().filter(|finding| finding.level == Level::Fail).count() {
        0 => Ok(()),
        1 => Err(Failure::outside("1 thing does not work")),
        count => Err(Failure::outside(format!("{count} things do not work"))),
    }
}

fn words(out: &Out, findings: &[Finding]) -> String {
    findings.iter().map(|finding| line(out, finding)).collect::<Vec<_>>().join("\n")
}

fn line(out: &Out, finding: &Finding) -> String {
    let mark = match finding.level {
        Level::Ok => out.ink(Ink::Good, "ok  "),
        Level::Warn => out.ink(Ink::Wait, "look"),
        Level::Fail => out.ink(Ink::Bad, "FAIL"),
    };
    // A server's words may be in it.
    let words = plain::lines(&finding.words).replace('\n', "\n      ");
    let todo = finding.todo.iter().map(|todo| format!("\n      {}", plain::lines(todo)));
    format!("{mark}  {}: {words}{}", finding.topic, todo.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn a_terminal_obeys_no_finding() {
        let finding = Finding {
            level: Level::Fail,
            topic: "matrix".into(),
            words: "no\u{1b}]0;x\u{7}".into(),
            todo: Some("\u{1b}[2J".into()),
        };
        let line = line(&Out::plain(Clock::system()), &finding);
        assert!(!line.contains(['\u{1b}', '\u{7}']), "{line}");
    }
}
