//! The knobs and their journals against the running kernel, each test in a private network namespace.

mod journals;
mod kernel;
mod side_effects;

fn main() {
    bitcost_testkit::main(&[journals::TRIALS, kernel::TRIALS, side_effects::TRIALS]);
}
