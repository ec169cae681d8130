//! The hosts and pairs of a mesh that are slower, and the matrix.

use bitcost_analysis::findings::Findings;

use super::writer::Html;
use crate::mesh::{matrix, mesh_paragraphs, mesh_sentence};

pub(crate) fn section(page: &mut Html, execution: &Findings) {
    let Some(of) = &execution.mesh else { return };
    page.element("p", "answer long", &mesh_sentence(of));
    page.list(mesh_paragraphs(of));
    if let Some((title, matrix)) = matrix(of) {
        page.table(&title, &matrix);
    }
}
