//! The program without traffic: its messages, files and forms of output; and rules for the whole
//! repository.

mod compare;
mod corpora;
mod damage;
mod formats;
mod links;
mod mistakes;
mod rooms;
mod screens;
mod studies;
mod terminal;
mod unit_file;
mod untrusted;
mod words;
