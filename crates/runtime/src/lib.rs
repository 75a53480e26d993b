//! The tick and everything around it while a test runs.

pub mod clock;
pub mod event;
pub mod frame;
pub mod gate;
pub mod host;
pub mod hybrid_loop;
pub mod interlock;
pub mod laboratory;
pub mod link;
pub mod load;
pub mod lockstep;
pub mod measured;
pub mod monitor;
pub mod open_loop;
pub mod operator;
pub mod periodic;
pub mod plant;
pub mod realtime;
pub mod record;
pub mod reference;
pub mod rig;
pub mod stop;
pub mod streamed_load;
mod system;
pub mod tap;
pub mod two_rate;
pub mod world;
