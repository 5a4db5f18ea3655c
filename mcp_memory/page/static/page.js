// Sends forms without a reload, moves and acts by keys, and shows changes as they happen. Without it, forms and links
// work as a browser does them.
"use strict";

const main = () => document.getElementById("main");
const notice = document.getElementById("notice");
const TYPING = "input:not([type=hidden], [type=checkbox]), textarea, select";

// -- loading a page into this one

let loading = 0;

async function load(url, options = {}, { keepsPlace = true, keepsFlash = false } = {}) {
  const turn = ++loading;
  const row = rows().indexOf(current());
  const open = [...main().querySelectorAll("details[id][open]")].map((one) => one.id);
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
  } catch {
    return say("The daemon doesn't answer. Trying again …");
  }
  const text = await answer.text();
  if (turn !== loading) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  const found = page.getElementById("main");
  if (!found) return say("The daemon doesn't answer. Trying again …");
  const flash = keepsFlash && !found.querySelector(".flash") && main().querySelector(".flash");
  if (flash) found.prepend(flash);
  main().replaceWith(found);
  document.title = page.title;
  for (const name of ["header.bar nav"]) {
    const [old, fresh] = [document.querySelector(name), page.querySelector(name)];
    if (old && fresh) old.replaceWith(fresh);
  }
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (answer.redirected || !options.method) {
    const here = new URL(answer.url);
    if (here.href !== location.href) history.pushState(null, "", here);
  }
  say("");
  if (keepsPlace && row >= 0) select(rows()[Math.min(row, rows().length - 1)]);
  else if (!keepsPlace) scrollTo(0, 0);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.hasAttribute("data-reload")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  form.setAttribute("aria-busy", "true");
  load(form.action, { method: "POST", body }).finally(() => form.removeAttribute("aria-busy"));
});

addEventListener("popstate", () => load(location.href));

// -- keys

const rows = () => [...main().querySelectorAll(".row")].filter((row) => row.offsetParent);
const current = () => main().querySelector(".row.current");

function select(row) {
  current()?.classList.remove("current");
  if (!row) return;
  row.classList.add("current");
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const all = rows();
  const at = all.indexOf(current());
  select(all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + step))]);
}

const keyed = (key, among) => [...among.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return void document.activeElement?.blur();
  if (event.target.closest(TYPING)) return;
  const { key } = event;
  const row = current();
  if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "?") showKeys();
  else if (key === "Enter" && row && document.activeElement === row) row.querySelector("a.title, summary")?.click();
  else {
    const target = (row && keyed(key, row)) || [...document.querySelectorAll("[data-key]")].find(
      (one) => one.dataset.key === key && !one.closest(".row"));
    if (!target) return;
    if (target.matches(TYPING)) { target.focus(); target.select?.(); } else target.click();
  }
  event.preventDefault();
});

document.addEventListener("focusin", (event) => {
  const row = event.target.closest?.(".row");
  if (row && row !== current()) { current()?.classList.remove("current"); row.classList.add("current"); }
});

function showKeys() {
  const dialog = document.getElementById("keys");
  if (dialog.open) return dialog.close();
  const known = new Map([["j", "next line"], ["k", "line before"], ["Enter", "open it"], ["?", "these keys"]]);
  for (const one of document.querySelectorAll("[data-key]")) {
    const label = one.getAttribute("aria-label") || one.firstChild?.textContent?.trim() || one.placeholder;
    if (!known.has(one.dataset.key)) known.set(one.dataset.key, (label || "").toLowerCase());
  }
  dialog.querySelector("dl").replaceChildren(...[...known].flatMap(([key, label]) => {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    const kbd = document.createElement("kbd");
    kbd.textContent = key;
    term.append(kbd);
    text.textContent = label;
    return [term, text];
  }));
  dialog.showModal();
}

const keysButton = document.getElementById("show-keys");
if (keysButton) { keysButton.hidden = false; keysButton.addEventListener("click", showKeys); }

// -- what changes meanwhile

function say(text, action) {
  notice.hidden = !text;
  notice.textContent = text;
  if (action) {
    const button = document.createElement("button");
    button.textContent = action.label;
    button.addEventListener("click", action.work);
    notice.append(" ", button);
  }
}

const isBusy = () => document.activeElement?.matches(TYPING) || main().querySelector("form.dirty, details.confirm[open]");

document.addEventListener("input", (event) => event.target.form?.classList.add("dirty"));

function follow() {
  if (!document.querySelector("header.bar")) return;
  const stream = new EventSource("/ui/live");
  stream.addEventListener("hello", (event) => {
    const version = document.documentElement.dataset.version;
    if (event.data === version) return say("");
    say(`The daemon is now version ${event.data}.`, { label: "Reload", work: () => location.reload() });
  });
  // The own action is such a change, too: its outcome, with the undo, stays until the next action.
  const show = () => load(location.href, {}, { keepsFlash: true });
  stream.addEventListener("change", () => {
    if (isBusy()) say("Something changed.", { label: "Show it", work: show });
    else show();
  });
  stream.addEventListener("signed-out", () => { stream.close(); location.reload(); });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 10_000);
    else say("The daemon doesn't answer. Trying again …");
  });
}

follow();
