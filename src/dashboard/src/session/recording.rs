//! What a terminal showed, to be played back.

use maud::{Markup, html};
use std::time::Duration;
use vigie_core::session::Session;

/// A recording of the present start of a session's program, or of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub length: Duration,
    pub columns: u16,
}

pub(super) fn pane(session: &Session, recorded: &Recorded) -> Markup {
    let Session { id, run, name, .. } = session;
    // The end of the slider is the end of it, whatever part of a second is left.
    let length = recorded.length.as_secs() + u64::from(recorded.length.subsec_nanos() > 0);
    html! {
        div.term-box id=(format!("play-{run}")) data-keep data-player=(format!("/sessions/{id}/recording")) {
            pre.term tabindex="0" role="region" aria-label=(format!("Recording of {name}")) data-columns=(recorded.columns) {
                span.dim { "Press Play." }
            }
            div.player {
                button.btn type="button" data-play { "Play" }
                label.hush for="seek" { "Where in the recording" }
                input type="range" id="seek" min="0" max=(length) value="0" step="1" autocomplete="off";
                span.num.small { span data-at { "0:00" } " of " (clock(length)) }
                p.small.wait role="alert" hidden {}
            }
        }
        p.foot.small.dim { "What its terminal showed since its program was last started. Pauses are shortened. What people typed is not in it." }
    }
}

/// "1:02:07", "4:09".
fn clock(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 {
        format!("{minutes}:{rest:02}")
    } else {
        format!("{hours}:{minutes:02}:{rest:02}")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lengths_read_as_clocks_do() {
        let shown = [0, 9, 249, 3727].map(super::clock);
        assert_eq!(shown, ["0:00", "0:09", "4:09", "1:02:07"]);
    }
}
