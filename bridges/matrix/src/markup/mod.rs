//! Texts in Matrix's dialect: plain text beside HTML, from the same neutral text, and the way back.
//! Source of the elements: Matrix specification, "m.room.message msgtypes".

pub(crate) mod incoming;
