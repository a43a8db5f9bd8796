//! Texts in Matrix's dialect: plain text beside HTML, from the same neutral text, and the way back.
//! Source of the elements: Matrix specification, "m.room.message msgtypes".

mod clean;
mod html;
pub(crate) mod incoming;
mod links;
mod nest;
mod plain;
mod size;

pub use size::{Kind, fits};

use vigie_core::text::Rich;

/// A text as an event has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What clients without HTML show, and what notifications say.
    pub body: String,
    /// The same words with their looks; `None` where they have none.
    pub html: Option<String>,
}

/// `rich` as Matrix has it. No word is lost; characters that turn the direction of others are left
/// out, since they would reach into words that are not the text's own.
pub fn text(rich: &Rich) -> Text {
    let rich = clean::clean(rich);
    let steps = nest::steps(&rich);
    let has_looks = steps.iter().any(|step| matches!(step, nest::Step::Open(_)));
    Text { body: plain::body(&steps), html: has_looks.then(|| html::html(&steps)) }
}
