//! All forms of output, a row for each.

use crate::export::Form;

/// Every form, in the order of the help.
pub static FORMS: [Form; 8] = [
    crate::text::FORM,
    crate::markdown::FORM,
    crate::csv::FORM,
    crate::json::FORM,
    crate::html::FORM,
    crate::netperf::FORM,
    crate::netperf::KEYVAL,
    crate::iperf3::FORM,
];

/// The form of this name.
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}
