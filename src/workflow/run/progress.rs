//! A run as a few lines of text, for a phone.
