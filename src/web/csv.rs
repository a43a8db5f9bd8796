//! Tables for spreadsheets.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

use super::fault::Fault;

/// The table as a file of that name, or why there is none.
pub(super) fn answer(name: &str, table: Result<String, Fault>) -> Response {
    match table {
        Ok(text) => {
            let file = format!("attachment; filename=\"{name}.csv\"");
            let headers = [
                (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
                (header::CONTENT_DISPOSITION, file),
            ];
            (headers, text).into_response()
        }
        Err(fault) => fault.into_response(),
    }
}

/// The names of the columns.
pub(super) fn head(names: &[&str]) -> String {
    format!("\"{}\"\r\n", names.join("\",\""))
}

/// A cell: in quotes, as RFC 4180 has it; what a spreadsheet would compute is kept from it. Where it
/// takes another separator than a comma, a quote in the middle of what it takes for a cell keeps nothing
/// together, so what would begin a cell there is kept from it too.
pub(crate) fn cell(text: &str) -> String {
    let mut out = String::from("\"");
    let mut begins = true;
    for letter in text.chars() {
        if begins && COMPUTES.contains(&letter) {
            out.push('\'');
        }
        // Blanks and quotes before a cell's text are passed over.
        begins = SEPARATES.contains(&letter) || begins && (letter.is_whitespace() || letter == '"');
        out.push(letter);
        if letter == '"' {
            out.push(letter);
        }
    }
    out.push('"');
    out
}

/// What begins a formula, in its full width as well.
const COMPUTES: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// What begins a cell, for one spreadsheet or another.
const SEPARATES: [char; 6] = [',', ';', '\t', '|', '\r', '\n'];

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_spreadsheet_computes_nothing_of_it() {
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
        assert_eq!(cell(" \"=1"), "\" \"\"'=1\"");
        assert_eq!(cell("a;=1"), "\"a;'=1\"");
        assert_eq!(cell("a\n@x\t＝1"), "\"a\n'@x\t'＝1\"");
        assert_eq!(cell("2-1 = 1"), "\"2-1 = 1\"");
        assert_eq!(cell("say \"so\", now"), "\"say \"\"so\"\", now\"");
    }
}
