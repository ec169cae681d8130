//! What varies a run that options describe.

/// What varies the run: the study has one cell for each combination of its levels.
pub struct Varied {
    /// The study's name.
    pub name: String,
    /// The command that makes it.
    pub title: String,
    /// The question that it answers.
    pub question: &'static str,
    /// Its factors, and the combinations that it leaves out, as text of a study.
    pub factors: String,
}
