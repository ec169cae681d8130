//! Facts about runs of other programs that their files give in addition to the figures.

use bitcost_model::event::{Event, Events};
use serde_json::{Value, json};

/// An entry per imported run: `run`, `tool`, `tool_version`, `file`, `place`, `began_at`, all its
/// `levels`, its `facts` by the names that its file uses, and `notes`.
pub(crate) fn imported_json(events: &Events) -> Value {
    let mut entries = Vec::new();
    events.each(&|_| true, &mut |_, event| {
        let Event::RunImported { run, imported } = event else {
            return;
        };
        let mut entry = json!(imported);
        let Some(fields) = entry.as_object_mut() else {
            return;
        };
        // Figures are already in the cells and in the table of runs, and intervals in the table of
        // intervals.
        fields.retain(|name, _| name != "figures" && name != "intervals");
        fields.insert("run".to_owned(), json!(run));
        entries.push(entry);
    });
    Value::Array(entries)
}
