// @ts-check
/** What the page knows, and who wants to hear when it changes. */

/**
 * @typedef {{path: string, title: string, state: string, phase_word: string, time_s: number, duration_s: number,
 *   tick_hz: number, clock: string, trip: null | {code: number, text: string, time_s: number}, presses: number,
 *   can: string[], parameters: any[], load: any, verdict: any, message: string | null, exit: number | null, record: string | null,
 *   operator_lost: {action: string, after_s: number, attended?: boolean} | null, frames_lost: number, viewers: number, ticks: number, id: string}} Run
 */

export const state = {
  /** @type {any} */ session: null,
  /** @type {Run | null} */ run: null,
  /** @type {{holder: string, asked_by: string | null} | null} */ lease: null,
  /** @type {any[]} */ events: [],
  /** @type {any} */ latency: null,
  /** Whether numbers come in, and since when not. */
  link: { open: false, level: "bad", text: "Not connected", stale: true },
};

/** @type {Map<string, Set<(value: any) => void>>} */
const listeners = new Map();

/** Calls `work` whenever `what` changes; the answer ends that. @returns {() => void} */
export function on(what, work) {
  const set = listeners.get(what) ?? new Set();
  listeners.set(what, set.add(work));
  return () => set.delete(work);
}

/** Tells everyone that `what` has changed. */
export function tell(what, value) {
  for (const work of [...(listeners.get(what) ?? [])]) work(value);
}

/** Whether a test moves, or may move, something now. */
export const isActive = (run) => !!run && ["starting", "armed", "running", "held", "stopping"].includes(run.state);
