//! The test that runs: in a process of its own, which goes on whatever becomes of the host.

mod press;
mod state;
mod uses;
mod watch;

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use runtime::host::protocol::Welcome;
use runtime::host::{Action, Client, ClientError, ClientStream, Situation, Status, Token, Trust};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast;
use twinrig::hosted::Found;

use crate::lock::lock;
use crate::private::write_private;

use press::{LastPress, Press};
pub(crate) use state::{Known, Live, Run, RunState};
use watch::{Watcher, read_beacon};

/// Messages that wait for a slow viewer; beyond that it misses the oldest.
const WAITING: usize = 64;
/// The file that says which run was the last.
const LAST: &str = "run.json";
/// Time for an answer of the test.
const ANSWER: Duration = Duration::from_secs(2);

/// What a run was started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) real_time: bool,
    pub(crate) set: Vec<String>,
    pub(crate) rig: Option<String>,
    pub(crate) accept_unstable: bool,
    /// Of the record, relative to the folder that is served.
    pub(crate) folder: String,
}

/// A test that was prepared.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) order: Order,
    /// SHA-256 of its file then.
    pub(crate) version: String,
}

/// The run, if there is one.
pub(crate) struct Runs {
    shared: Arc<Shared>,
    /// Of the host link.
    token: Token,
    private: PathBuf,
    pub(crate) prepared: Mutex<Option<Prepared>>,
    last_press: LastPress,
}

/// What the thread that looks at the run shares with requests.
pub(crate) struct Shared {
    known: Mutex<Known>,
    live: broadcast::Sender<Live>,
    /// Who holds the lease now.
    attended: Mutex<Box<dyn Fn() -> Option<String> + Send>>,
}

impl Shared {
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    fn send(&self, live: Live) {
        // Nobody may be there.
        let _ = self.live.send(live);
    }

    fn viewers(&self) -> usize {
        self.live.receiver_count()
    }

    fn width(&self) -> usize {
        self.known().width()
    }

    fn change(&self, change: impl FnOnce(&mut Run)) {
        if let Some(run) = &mut self.known().run {
            change(run);
        }
    }

    fn meet(&self, found: Found, welcome: &Welcome) {
        let mut known = self.known();
        // After a broken link it is the same test as before.
        if known.width() == 0 {
            known.meet(found, welcome.channels.clone());
            known.expects_load(welcome.load_hz);
            let hello = known.hello();
            self.send(Live::json(&hello));
        }
    }

    fn take_in(&self, status: &Status, situation: Option<&Situation>, tick_hz: f64) {
        let mut known = self.known();
        let last = Situation::default();
        let before = known.run.as_ref().map(|run| run.state);
        let news = known.take_in(status, situation.unwrap_or(&last), tick_hz);
        let changed = !news.is_empty() || before != known.run.as_ref().map(|run| run.state);
        drop(known);
        news.into_iter().for_each(|live| self.send(live));
        if changed {
            self.tell_run();
        }
    }

    fn attended_by(&self) -> Option<String> {
        lock(&self.attended)()
    }
}

impl Runs {
    pub(crate) fn new(private: PathBuf, token: Token) -> Self {
        let (live, _) = broadcast::channel(WAITING);
        let attended: Box<dyn Fn() -> Option<String> + Send> = Box::new(|| None);
        let shared = Shared { known: Mutex::default(), live, attended: Mutex::new(attended) };
        let (prepared, last_press) = (Mutex::new(None), LastPress::default());
        Self { shared: Arc::new(shared), token, private, prepared, last_press }
    }

    /// By what it is told who controls the test.
    pub(crate) fn attended_by(&self, who: impl Fn() -> Option<String> + Send + 'static) {
        *lock(&self.shared.attended) = Box::new(who);
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.shared.known()
    }

    /// Everything from now on, for a viewer. Call it while [`known`](Self::known) is held, and
    /// nothing is missed.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Live> {
        self.shared.live.subscribe()
    }

    /// Says to those who look on that the lease has changed hands.
    pub(crate) fn lease_changed(&self) {
        let holder = self.shared.attended_by();
        let lease = holder.map(|holder| json!({ "holder": holder }));
        self.shared.send(Live::json(&json!({ "kind": "lease", "lease": lease })));
    }

    /// Finds the run that another host has left, or this one before it was started again.
    pub(crate) fn find(&self, root: &Path) -> io::Result<()> {
        let Ok(bytes) = fs::read(self.private.join(LAST)) else { return Ok(()) };
        let Ok(order) = serde_json::from_slice::<Order>(&bytes) else { return Ok(()) };
        let folder = root.join(&order.folder);
        if read_beacon(&folder, &self.token).is_none() {
            return Ok(());
        }
        let mut known = self.known();
        known.begin(first(&order));
        known.event("link", "the host found the running test again", None);
        drop(known);
        self.watch(folder, None)
    }

    /// Starts the process of a run.
    pub(crate) fn launch(&self, program: &Path, root: &Path, order: &Order) -> io::Result<()> {
        let token = self.private.join("link.token");
        let mut arguments = vec![
            "--json".to_owned(),
            "run".to_owned(),
            "--host=127.0.0.1:0".to_owned(),
            "--wait".to_owned(),
            format!("--token-file={}", token.display()),
            format!("--out={}", order.folder),
        ];
        arguments.extend(order.real_time.then(|| "--realtime".to_owned()));
        arguments.extend(order.rig.iter().map(|rig| format!("--rig={rig}")));
        arguments.extend(order.set.iter().map(|set| format!("--set={set}")));
        arguments.extend(order.accept_unstable.then(|| "--accept-unstable".to_owned()));
        arguments.extend(["--".to_owned(), order.path.clone()]);
        // Into files: the process must not mind whether anybody reads.
        let said = File::create(self.private.join("run.out"))?;
        let errors = File::create(self.private.join("run.err"))?;
        write_private(&self.private.join(LAST), &serde_json::to_vec(order)?)?;
        let folder = root.join(&order.folder);
        // A group of its own: Ctrl-C for the host is none for the test.
        let child = Command::new(program)
            .args(&arguments)
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(said)
            .stderr(errors)
            .process_group(0)
            .spawn()?;
        let mut known = self.known();
        known.begin(first(order));
        known.child = Some(child.id());
        drop(known);
        self.watch(folder, Some(child))
    }

    fn watch(&self, folder: PathBuf, child: Option<std::process::Child>) -> io::Result<()> {
        let (shared, token) = (Arc::clone(&self.shared), self.token.clone());
        let errors = self.private.join("run.err");
        let watcher = Watcher { shared, token, folder, errors, child };
        let look_on = move || watcher.look_on();
        thread::Builder::new().name("watch".into()).spawn(look_on)?;
        Ok(())
    }

    /// A connection to the test for one request.
    fn reach(&self) -> Result<Client, ClientError> {
        let address = self.known().found.as_ref().map(|found| found.address);
        let Some(address) = address else {
            return Err(io::Error::from(io::ErrorKind::NotConnected).into());
        };
        let client = Client::connect(address, &self.token, &Trust::Plain)?;
        wait_at_most(&client, ANSWER)?;
        Ok(client)
    }

    /// Begins the load, holds the test or lets it go on.
    pub(crate) fn control(&self, action: Action, by: &str) -> Result<(), ClientError> {
        let mut client = self.reach()?;
        client.control(action, by)?;
        let text = match action {
            Action::Start => "start",
            Action::Hold => "hold",
            Action::Resume => "resume",
        };
        let live = self.known().event("control", text, Some(by));
        self.shared.send(live);
        Ok(())
    }

    /// Presses the stop and gives how often it was pressed. A press with a name that is sent again
    /// counts once: `None` while it is under way.
    pub(crate) fn stop(&self, by: &str, name: Option<&str>) -> Result<Option<u64>, ClientError> {
        match self.last_press.begin(name) {
            Press::Done(presses) => return Ok(Some(presses)),
            Press::UnderWay => return Ok(None),
            Press::New => {}
        }
        let pressed = self.press(by);
        self.last_press.end(name, pressed.as_ref().ok().copied());
        pressed.map(Some)
    }

    /// Over the link or, where that is not to be had, by the signal that the program takes as one.
    fn press(&self, by: &str) -> Result<u64, ClientError> {
        let pressed = self.reach().and_then(|mut client| {
            let presses = client.stop()?;
            // For the record; the stop is pressed whatever becomes of this.
            let _ = client.note(&format!("stop, by {by}"));
            Ok(presses)
        });
        let presses = match pressed {
            Ok(presses) => presses,
            Err(ClientError::Over) => return Err(ClientError::Over),
            Err(error) => {
                let pid = self.known().pid();
                let pid = pid.and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
                let signal = rustix::process::Signal::INT;
                match pid.map(|pid| rustix::process::kill_process(pid, signal)) {
                    Some(Ok(())) => 1,
                    _ => return Err(error),
                }
            }
        };
        let mut known = self.known();
        if let Some(run) = &mut known.run {
            run.presses += 1;
        }
        let live = known.event("control", "stop", Some(by));
        self.shared.send(live);
        Ok(presses)
    }
}

/// What is known of a run before its process has said anything.
fn first(order: &Order) -> Run {
    let clock = if order.real_time { "real" } else { "virtual" };
    Run {
        id: order.id.clone(),
        path: order.path.clone(),
        title: String::new(),
        clock: clock.to_owned(),
        state: RunState::Starting,
        phase: runtime::interlock::Phase::Initiating as u8,
        phase_word: runtime::interlock::Phase::Initiating.description().to_owned(),
        time_s: 0.0,
        ticks: 0,
        tick_hz: 0.0,
        duration_s: 0.0,
        trip: None,
        presses: 0,
        record: crate::folder::record_id(&order.folder),
        verdict: None,
        exit: None,
        message: None,
        operator_lost: None,
        load: None,
        can: vec!["stop".to_owned()],
        frames_lost: 0,
        viewers: 0,
    }
}

/// Waits for an answer of the test no longer than this.
fn wait_at_most(client: &Client, time: Duration) -> io::Result<()> {
    let stream = match &client.stream {
        ClientStream::Plain(stream) => stream,
        ClientStream::Tls(stream) => &stream.sock,
    };
    stream.set_read_timeout(Some(time))
}
