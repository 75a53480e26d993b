// @ts-check
/** Requests to the host, with the token and the lease. */

const TOKEN = "twinrig.token";
const LEASE = "twinrig.lease";

/** An answer that says no, in the host's words. */
export class ApiError extends Error {
  constructor(status, code, message, remedy, body) {
    super(message);
    this.status = status;
    this.code = code;
    this.remedy = remedy ?? "";
    this.body = body;
  }
}

/** What is stored for this tab alone. */
export const keys = {
  get token() { return sessionStorage.getItem(TOKEN) ?? ""; },
  set token(value) { value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN); },
  get lease() { return sessionStorage.getItem(LEASE) ?? ""; },
  set lease(value) { value ? sessionStorage.setItem(LEASE, value) : sessionStorage.removeItem(LEASE); },
};

/** Moves a token from the address into this tab's store. */
export function takeTokenFromAddress() {
  const token = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (!token) return;
  keys.token = decodeURIComponent(token);
  keys.lease = "";
  history.replaceState(null, "", location.pathname + location.search);
}

let onUnauthorised = () => {};
/** Who asks for another token when the host refuses this one. */
export const whenRefused = (work) => { onUnauthorised = work; };

/**
 * One request; the answer as a `Response`.
 * @param {string} method @param {string} path
 * @param {{body?: any, signal?: AbortSignal, token?: string, press?: string}} [options]
 */
export async function request(method, path, { body, signal, token, press } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: "Bearer " + (token ?? keys.token) };
  if (keys.lease) headers["X-Twinrig-Lease"] = keys.lease;
  if (press) headers["X-Twinrig-Press"] = press;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new ApiError(0, "offline", "The host does not answer.", "See whether the program still runs and the network is up.");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  const { code = "unknown", message = `The host answers with status ${response.status}.`, remedy } = answer?.error ?? {};
  if (response.status === 401 && token === undefined) onUnauthorised();
  throw new ApiError(response.status, code, message, remedy, answer?.error ?? answer);
}

/** The same, with the answer's JSON. @returns {Promise<any>} */
export async function call(method, path, options) {
  const response = await request(method, path, options);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body = {}, options = {}) => call("POST", path, { ...options, body });
export const put = (path, body = {}, options = {}) => call("PUT", path, { ...options, body });
export const remove = (path) => call("DELETE", path);

/** A path of the folder as part of an address. */
export const inAddress = (path) => path.split("/").map(encodeURIComponent).join("/");

/** Fetches a file with the token and hands it to the browser to store. */
export async function download(path, name) {
  const response = await request("GET", path);
  const given = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = given ?? name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/**
 * Opens a report in a tab of its own. The tab is opened before the ticket is there, because a
 * browser lets a click open a tab, and nothing that comes later.
 * @param {() => Promise<{url: string}>} ticket
 */
export async function openTicket(ticket) {
  const tab = window.open("", "_blank");
  try {
    const { url } = await ticket();
    if (!tab) return void (location.href = url);
    tab.opener = null;
    tab.location.replace(new URL(url, location.href));
  } catch (problem) {
    tab?.close();
    throw problem;
  }
}
