//! Files of other programs, whole and damaged.

mod damage;
mod miniedit;
mod tools;
