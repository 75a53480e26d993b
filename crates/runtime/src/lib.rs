//! The tick and everything around it while a test runs.

pub mod clock;
pub mod event;
pub mod feed;
pub mod frame;
pub mod gate;
pub mod host;
pub mod hybrid_loop;
pub mod interlock;
pub mod laboratory;
pub mod link;
pub mod load;
pub mod lockstep;
pub mod monitor;
pub mod open_loop;
pub mod operator;
pub mod periodic;
pub mod plant;
pub mod realtime;
pub mod record;
pub mod reference;
pub mod rig;
pub mod streamed_load;
pub mod two_rate;
