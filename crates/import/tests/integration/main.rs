//! Files of other programs.

mod miniedit;
mod tools;
