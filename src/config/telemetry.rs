//! The check of who is told how long what took: `[telemetry]`.

use super::{Telemetry, check::Check, rows::TelemetryRow, values::api_url};

impl Check<'_> {
    pub(super) fn telemetry(&mut self, row: TelemetryRow) -> Telemetry {
        let otlp = row.otlp.and_then(|text| {
            let read = api_url(text.get_ref());
            if read.is_none() {
                let words = format!("`{}` is no address of a collector", text.get_ref());
                let hint = "OTLP over HTTP, without `/v1/traces`: \"http://127.0.0.1:4318\"";
                self.add(text.span(), words, Some(hint.into()));
            }
            read
        });
        Telemetry { otlp }
    }
}
