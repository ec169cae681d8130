//! All forms of output, a row for each.

use crate::export::Exporter;

/// Every form, in the order of the help.
pub static FORMS: [&dyn Exporter; 9] = [
    &crate::text::Text,
    &crate::markdown::Markdown,
    &crate::csv::Csv,
    &crate::parquet::Parquet,
    &crate::json::Json,
    &crate::html::HtmlReport,
    &crate::netperf::Netperf,
    &crate::netperf::NetperfKeyval,
    &crate::iperf3::Iperf3,
];

/// The form of this name.
pub fn form(name: &str) -> Option<&'static dyn Exporter> {
    FORMS.into_iter().find(|form| form.name() == name)
}
