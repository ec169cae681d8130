//! The knobs and their journals against the running kernel, each test in a private network namespace.

mod journals;
mod kernel;
mod side_effects;

fn main() {
    let all = [journals::TRIALS, kernel::TRIALS, side_effects::TRIALS];
    bitcost_testkit::main(all.concat());
}
