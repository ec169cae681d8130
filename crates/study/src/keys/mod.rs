//! Every key of a study file and of a lab file: its name, the form of its value, its meaning. The
//! readers take the allowed names from these tables; the reference page is made of them.

mod form;
mod key;
mod markdown;
mod read;
mod schema;
mod tables;

pub(crate) use key::Form;
pub use markdown::markdown;
pub use schema::study_schema;
pub(crate) use tables::{
    ANSWER, CHECK, CLAIM, COMPARE, EXPECT, FACTOR, IMPROVEMENT, LAB, LAB_FILE, LENGTHS, LINK, MESH,
    REPORT, RUN, SHAPING, STUDY, TABLE,
};

#[cfg(test)]
mod tests {
    use super::tables::PICTURE;
    use super::*;
    use crate::picture::PictureKind;

    #[test]
    fn each_name_is_there_once_and_each_meaning_is_a_sentence() {
        for table in markdown::PAGE {
            let mut names = table.names();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.keys.len(), "{}", table.title);
            for key in table.keys {
                assert!(key.about.ends_with('.'), "{} {}", table.title, key.name);
            }
        }
    }

    #[test]
    fn every_key_of_a_picture_is_described() {
        for kind in PictureKind::ALL {
            for key in kind.keys() {
                assert!(PICTURE.names().contains(key), "{key}");
            }
        }
    }

    #[test]
    fn the_page_has_a_row_for_each_key() {
        let page = markdown();
        for table in [&STUDY, &RUN, &ANSWER, &LINK] {
            for key in table.keys {
                assert!(page.contains(&format!("`{}`", key.name)), "{}", key.name);
            }
        }
        assert_eq!(page.matches("| key | value |").count(), 18);
    }

    #[test]
    fn the_page_in_the_repository_is_current() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/study-keys.md"
        );
        let page = std::fs::read_to_string(path).expect("the page");
        assert!(
            page.contains(markdown().trim_end()),
            "docs/reference/study-keys.md is not what `bitcost_study::markdown` returns"
        );
    }
}
