// @ts-check
/** The frame: token, theme, connection, views by the address. */
import { byId, h, say } from "./dom.js";
import { get, keys, takeTokenFromAddress, whenRefused } from "./api.js";
import { forgetColours } from "./axes.js";
import { installLease } from "./lease.js";
import { connect, disconnect } from "./live.js";
import { notice } from "./notice.js";
import { on, state, tell } from "./state.js";
import { installStop } from "./stop.js";
import { experiments } from "./views/experiments.js";
import { operator } from "./views/operator.js";
import { workbench } from "./views/workbench.js";
import { studies } from "./views/studies.js";
import { records } from "./views/records.js";

/** @typedef {{element: HTMLElement, close?: () => void, mayClose?: () => Promise<boolean>, wide?: boolean}} View */

const VIEWS = /** @type {Record<string, {name: string, open: (rest: string) => View}>} */ ({
  experiments: { name: "Experiments", open: experiments },
  run: { name: "Test", open: operator },
  edit: { name: "Workbench", open: workbench },
  studies: { name: "Studies", open: studies },
  records: { name: "Records", open: records },
});

/** @type {View | null} */
let view = null;
/** @type {string | null} */
let shownAddress = null;

function theme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const chosen = localStorage.getItem("twinrig.theme");
    const dark = chosen ? chosen === "dark" : system.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    byId("theme").textContent = dark ? "Light" : "Dark";
    forgetColours();
    tell("theme", dark);
  };
  byId("theme").addEventListener("click", () => {
    localStorage.setItem("twinrig.theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

async function route() {
  if (!state.session || location.hash === shownAddress) return;
  const wanted = location.hash;
  if (view?.mayClose && !(await view.mayClose())) {
    history.replaceState(null, "", shownAddress || location.pathname);
    return;
  }
  const [, name = "", rest = ""] = /^#\/?([a-z]*)\/?(.*)$/.exec(wanted) ?? [];
  const chosen = VIEWS[name] ? name : state.run ? "run" : "experiments";
  shownAddress = wanted;
  view?.close?.();
  view = VIEWS[chosen].open(decodeURIComponent(rest));
  const main = byId("main");
  main.className = view.wide ? "" : "read";
  main.replaceChildren(view.element);
  document.title = `${VIEWS[chosen].name} – twinrig`;
  for (const link of byId("nav").children) {
    if (link.dataset.view === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function drawLink() {
  const box = byId("link");
  box.dataset.level = state.link.level;
  say(box, state.link.text);
}

function drawRole() {
  const { role = "", folder = "" } = state.session ?? {};
  byId("role").textContent = role;
  byId("folder").textContent = folder;
}

/** Asks for a token until the host takes one. */
function askToken(why = "") {
  disconnect();
  view?.close?.();
  view = null;
  shownAddress = null;
  state.session = null;
  drawRole();
  const field = h("input", { type: "password", autocomplete: "off", id: "token", size: 44, "aria-describedby": "token-why" });
  const form = h("form.stack", { onsubmit: (event) => {
    event.preventDefault();
    keys.token = field.value.trim();
    begin();
  } }, h("h1", null, "Token"), h("p", { id: "token-why", role: why ? "alert" : null }, why || "The program twinrig serve prints an address with a token for operators and one for viewers. Open that address, or enter the token."),
  h("div.row", null, h("label", { for: "token" }, "Token"), field, h("button", null, "Enter")));
  byId("main").className = "read";
  byId("main").replaceChildren(form);
  field.focus();
}

async function begin() {
  if (!keys.token) return askToken();
  try {
    state.session = await get("/api/session");
  } catch (problem) {
    const { status } = /** @type {any} */ (problem);
    if (status === 401) return;
    byId("main").replaceChildren(h("div.banner", { "data-level": "bad" }, h("h2", null, "The host does not answer"), h("p", null, /** @type {any} */ (problem).message + " Asking again.")));
    setTimeout(begin, 1500);
    return;
  }
  state.lease = state.session.lease;
  state.run = (await get("/api/run").catch(() => null))?.run ?? null;
  tell("session", state.session);
  tell("lease", state.lease);
  drawRole();
  connect();
  route();
}

takeTokenFromAddress();
theme();
installStop();
byId("nav").append(...Object.entries(VIEWS).map(([name, { name: text }]) => h("a", { href: `#/${name}`, "data-view": name }, text)));
whenRefused(() => {
  if (!keys.token) return;
  keys.token = "";
  keys.lease = "";
  askToken("The host does not know this token: it is wrong, or the program was started again.");
});
on("link", drawLink);
on("bye", (reason) => notice(new Error(`The host has closed the stream: ${reason}`)));
installLease();
addEventListener("hashchange", () => {
  if (!/^#token=/.test(location.hash)) return void route();
  takeTokenFromAddress();
  location.reload();
});
begin();
