// @ts-check
/** What went wrong, told once and taken away by hand or by time; and dialogs that leave STOP reachable. */
import { byId, h } from "./dom.js";

/** @param {string | Error & {remedy?: string}} what @param {string} [level] */
export function notice(what, level = typeof what === "string" ? "good" : "bad") {
  if (typeof what !== "string" && what.name === "AbortError") return;
  const text = typeof what === "string" ? what : what.message;
  const remedy = typeof what === "string" ? "" : what.remedy;
  const box = h("div.notice", { "data-level": level }, h("p", null, text, remedy && h("span.soft", null, " " + remedy)),
    h("button.quiet", { type: "button", "aria-label": "Close this message", onclick: () => box.remove() }, "×"));
  byId("notices").append(box);
  while (byId("notices").childElementCount > 4) byId("notices").firstElementChild.remove();
  setTimeout(() => box.remove(), level === "good" ? 5000 : 15000);
}

/** Runs what a button asked for and tells what went wrong. */
export const attempt = (work) => async (...args) => {
  try {
    return await work(...args);
  } catch (problem) {
    notice(/** @type {any} */ (problem));
  }
};

/**
 * Asks in a dialog. It is not modal for the browser: the bar with STOP stays within reach of mouse
 * and keyboard. Resolves to the chosen answer, or to null.
 * @param {string} title @param {any[]} content
 * @param {{label: string, value: any, danger?: boolean, quiet?: boolean, ready?: () => boolean}[]} answers
 * @returns {Promise<any>}
 */
export function ask(title, content, answers) {
  return new Promise((resolve) => {
    const before = /** @type {HTMLElement} */ (document.activeElement);
    const close = (value) => {
      veil.remove();
      before?.focus?.();
      resolve(value);
    };
    const buttons = answers.map(({ label, value, danger, quiet, ready }) => {
      const button = h("button" + (danger ? ".danger" : quiet ? ".quiet" : ""), {
        type: "button", onclick: () => close(typeof value === "function" ? value() : value) }, label);
      if (ready) {
        const look = () => { button.disabled = !ready(); };
        queueMicrotask(look);
        queueMicrotask(() => veil.addEventListener("input", look));
      }
      return button;
    });
    const box = h("div.dialog", { role: "dialog", "aria-labelledby": "dialog-title" }, h("h2", { id: "dialog-title" }, title), content,
      h("div.row.end", null, buttons));
    const veil = h("div.veil", { onkeydown: (event) => {
      if (event.key === "Escape" && !event.shiftKey) close(null);
      if (event.key === "Enter" && event.target instanceof HTMLInputElement && event.target.type !== "checkbox") buttons.find((b) => !b.classList.contains("quiet") && !b.disabled)?.click();
      if (event.key === "Tab") keepInside(event, box);
    } }, box);
    byId("dialogs").append(veil);
    (box.querySelector("input, select, textarea") ?? buttons[0]).focus();
  });
}

/** Tab goes round the dialog and the button STOP. */
function keepInside(event, box) {
  const stops = [...box.querySelectorAll("button:not(:disabled), input, select, textarea, a[href]"), byId("stop")];
  const at = stops.indexOf(document.activeElement);
  const next = stops[(at + (event.shiftKey ? -1 : 1) + stops.length) % stops.length];
  event.preventDefault();
  next.focus();
}

/** Yes or no. @param {string} title @param {any[]} content @param {string} yes */
export const confirm = (title, content, yes, danger = false) =>
  ask(title, content, [{ label: "Cancel", value: null, quiet: true }, { label: yes, value: true, danger }]);
