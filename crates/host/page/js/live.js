// @ts-check
/** The live stream: opened again whenever it breaks, and honest about how old its numbers are. */
import { get, keys } from "./api.js";
import { Curves, decode } from "./curves.js";
import { isActive, state, tell } from "./state.js";

/** No numbers of an active test for so long, and the picture is called stale. */
const STALE_MS = 700;
/** The host tells of an active test each second. */
const WORD_MS = 2500;
/** Without an active test the host is asked now and then. */
const BEAT_MS = 2000, QUIET_MS = 4500;

export const live = {
  curves: new Curves([]),
  /** @type {{channel: string, name: string, limit: number, unit: string, use: string}[]} */ limits: [],
  /** Messages that this viewer was too slow for. */ missed: 0,
  /** Frames that the host has not got from the loop. */ lostFrames: 0,
  /** Messages in the last second. */ rate: 0,
};

/** @type {WebSocket | null} */
let socket = null;
let heard = 0, numbers = 0, next = 0, expected = -1, recent = 0;
/** Counts what was said of the run. */
let words = 0;
let refusedWhy = "";

export function connect() {
  clearTimeout(next);
  socket?.close();
  const address = location.origin.replace(/^http/, "ws") + "/api/live";
  const own = socket = new WebSocket(address, ["twinrig.v1", "bearer." + keys.token]);
  own.binaryType = "arraybuffer";
  own.addEventListener("open", () => { heard = performance.now(); refusedWhy = ""; judge(); });
  own.addEventListener("message", ({ data }) => {
    if (own !== socket) return;
    heard = performance.now();
    if (typeof data === "string") hear(JSON.parse(data));
    else take(data);
  });
  own.addEventListener("close", () => {
    if (own !== socket) return;
    socket = null;
    judge();
    next = window.setTimeout(() => keys.token && connect(), 1000);
  });
}

/** Closes the stream for good. */
export function disconnect() {
  const own = socket;
  socket = null;
  clearTimeout(next);
  own?.close();
  judge();
}

function take(buffer) {
  const message = decode(buffer);
  if (!message) return;
  numbers = performance.now();
  if (message.kind === 1) {
    if (expected >= 0 && message.number > expected) live.missed += message.number - expected;
    expected = message.number + 1;
    recent++;
  }
  live.lostFrames = message.lost;
  live.curves.add(message);
  tell("curves", live.curves);
}

function hear(message) {
  switch (message.kind) {
    case "hello": return hello(message);
    case "run": return takeRun(message.run);
    case "event": return event(message);
    case "latency":
      state.latency = message;
      return tell("latency", message);
    case "lease":
      return void beat();
    case "bye":
      refusedWhy = message.reason ?? "";
      return tell("bye", message.reason);
  }
}

/** As many buckets as fit into 64 MB. */
const mostBuckets = (channels) => Math.max(4096, Math.min(65_536, Math.floor(2 ** 23 / Math.max(1, channels))));

let known = "";

/** A run begins, or the stream does: the channels may be others. */
function hello(message) {
  const same = message.run?.id === known && known && JSON.stringify(message.channels) === JSON.stringify(live.curves.channels);
  if (!same) live.curves = new Curves(message.channels ?? [], mostBuckets(message.channels?.length ?? 0));
  known = message.run?.id ?? "";
  live.limits = message.limits ?? [];
  expected = -1;
  live.missed = same ? live.missed : 0;
  live.lostFrames = 0;
  if (!same) state.latency = null;
  state.events = [];
  tell("hello", message);
  tell("events", state.events);
  takeRun(message.run);
}

/** @param {import("./state.js").Run | null} value */
export function takeRun(value) {
  words++;
  const before = state.run;
  state.run = value;
  if (before?.state !== value?.state) numbers = Math.max(numbers, performance.now() - STALE_MS / 2);
  tell("run", value);
  judge();
}

function event(message) {
  if (state.events.some((other) => other.n === message.n)) return;
  state.events.push(message);
  state.events.sort((a, b) => a.n - b.n);
  tell("events", state.events);
}

/** Whether numbers must come: in virtual time the clock of the loop stands still while it waits or is held. */
function isFlowing(run) {
  const moves = run?.state === "running" || run?.state === "stopping";
  return moves || (run?.clock === "real" && (run.state === "armed" || run.state === "held"));
}

/** How old the picture is, in words; told whenever that changes. */
function judge() {
  const now = performance.now();
  const open = socket?.readyState === WebSocket.OPEN;
  const flowing = isFlowing(state.run);
  const silent = flowing ? Math.max(now - numbers, now - heard) : now - heard;
  const late = silent > (flowing ? STALE_MS : isActive(state.run) ? WORD_MS : QUIET_MS);
  let level = "good", text = "Live", stale = false;
  if (!open) {
    [level, stale] = ["bad", true];
    text = heard ? `Disconnected for ${((now - heard) / 1000).toFixed(0)} s` : "Not connected";
    if (refusedWhy) text += `: ${refusedWhy}`;
  } else if (late) {
    [level, stale, text] = ["bad", true, `No data for ${(silent / 1000).toFixed(1)} s`];
  } else if (flowing) text = `Live, ${live.rate} per s`;
  const link = { open, level, text, stale };
  const changed = JSON.stringify(link) !== JSON.stringify(state.link);
  state.link = link;
  if (changed) tell("link", link);
}

/** Who has control; and, while no test tells it, whether the host still answers and what became of the test. */
async function beat() {
  if (!socket) return;
  const began = performance.now();
  try {
    const { lease } = await get("/api/session");
    heard = Math.max(heard, began);
    if (JSON.stringify([lease?.holder, lease?.asked_by]) !== JSON.stringify([state.lease?.holder, state.lease?.asked_by])) {
      state.lease = lease;
      tell("lease", lease);
    }
    if (isFlowing(state.run) && !state.link.stale) return;
    const before = words;
    const { run } = await get("/api/run");
    // What the stream has said meanwhile is newer.
    if (before === words && (run?.id !== state.run?.id || run?.state !== state.run?.state)) takeRun(run);
  } catch {
    // The age of the newest answer says it.
  }
}

setInterval(beat, BEAT_MS);
setInterval(judge, 200);
setInterval(() => {
  live.rate = recent;
  recent = 0;
}, 1000);
