// What the desk's pages do in the browser: they stay true, they answer, they obey the keyboard. Markup
// comes from Vigie alone, which escapes whatever others said.
"use strict";

const main = document.getElementById("main");
const byId = (id) => document.getElementById(id);

// Times, in the reader's own zone.
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const today = () => new Date().toDateString();
const localise = (root) => {
  for (const node of root.querySelectorAll("time[data-as]")) {
    const at = new Date(node.dateTime);
    const clock = at.toLocaleTimeString([], CLOCK);
    const text = node.dataset.as === "clock" || at.toDateString() === today()
      ? clock
      : `${at.toLocaleDateString([], { day: "numeric", month: "short" })}, ${clock}`;
    if (node.textContent !== text) node.textContent = text;
    node.title = at.toLocaleString();
  }
};

// What is shown becomes what should be shown; what a person opened, holds or typed stays.
const typed = (node) =>
  node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement
    ? node.value !== node.defaultValue
    : node instanceof HTMLSelectElement && node.selectedIndex !== Math.max(0, [...node.options].findIndex((it) => it.defaultSelected));
// What would go with words in it stays, and says that they went nowhere.
const holdsWords = (node) => {
  const words = [...node.querySelectorAll("textarea")].filter((it) => it.value.trim() && typed(it));
  if (words.length === 0) return false;
  const alert = node.querySelector("[role=alert]");
  if (alert?.hidden) Object.assign(alert, { hidden: false, textContent: "This is over meanwhile. Your words were not sent; they go when you clear the field." });
  return true;
};

// What moved under a pointer is not what it aimed at: for a moment nothing there is pressed.
const SETTLE = 500; // ms a hand needs to see that something else lies under it
let settling;
const hasMoved = () => {
  main.dataset.moving = "";
  clearTimeout(settling);
  settling = setTimeout(() => delete main.dataset.moving, SETTLE);
};
const places = () => [...main.querySelectorAll("[data-tap], form[data-post] button, form[data-words] button")].map((node) => {
  const { left, top } = node.getBoundingClientRect();
  return [node.dataset.tap ?? node.form?.dataset.post ?? node.form?.dataset.words, Math.round(left), Math.round(top)].join(" ");
}).join("\n");
document.addEventListener("click", (event) => {
  // Keys press what has the focus, which does not move; they click with `detail` 0.
  if (event.detail === 0 || !("moving" in main.dataset) || !main.contains(event.target)) return;
  if (!event.target.closest?.("[data-tap], button")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  say("The page moved just now. Click again if you meant this.");
}, true);
const morph = (html) => {
  const before = places();
  Idiomorph.morph(main, html, {
    morphStyle: "innerHTML",
    ignoreActiveValue: true,
    restoreFocus: true,
    callbacks: {
      beforeNodeMorphed: (old) => !(old instanceof Element) || !(old.hasAttribute("data-keep") || typed(old)),
      beforeNodeRemoved: (old) => !(old instanceof Element) || !holdsWords(old),
      beforeAttributeUpdated: (name, node) => !(name === "open" && node instanceof HTMLDetailsElement),
    },
  });
  localise(main);
  if (places() !== before) hasMoved();
  main.dispatchEvent(new CustomEvent("fresh"));
};

/** Tells `events`, a handler by name, what is told at the address that `where` makes of whether there is
    a seat; without one, one event at a time. `broken` hears when that ended; then it is over. */
const follow = (where, events, broken) => {
  const it = { source: null, give: null, again: null, over: false };
  const leave = () => {
    it.source?.close();
    it.give?.();
    Object.assign(it, { source: null, give: null });
  };
  const close = () => {
    it.over = true;
    clearTimeout(it.again);
    leave();
  };
  const open = async () => {
    const give = await seats.take();
    if (it.over) return give?.();
    const source = new EventSource(where(give !== null));
    Object.assign(it, { source, give });
    for (const [name, handle] of Object.entries(events)) {
      source.addEventListener(name, (event) => {
        if (it.over || it.source !== source) return;
        handle(event);
        if (it.give || it.over || name === "begin") return;
        leave();
        it.again = setTimeout(open, seats.aside);
      });
    }
    source.onerror = () => {
      if (it.over || it.source !== source) return;
      close();
      broken();
    };
  };
  open();
  return { close };
};

// The connection: live, coming back, or away; always true.
const DELAYS = [1, 2, 4, 5]; // s; the last one holds on
const SILENT = 45_000; // two heartbeats and more
const line = { stream: null, heard: null, tries: 0, retry: null, late: null };
const clockOf = (time) => new Date(time).toLocaleTimeString([], CLOCK);
const tell = (look, short, long) => {
  const mark = byId("conn"), bar = byId("conn-bar");
  mark.className = `conn ${look}`.trim();
  if (mark.textContent !== short) mark.textContent = short;
  bar.className = `conn-bar ${look === "off" ? "off" : ""}`.trim();
  if (bar.hidden === !long && bar.textContent === (long ?? "")) return;
  const before = bar.offsetHeight;
  Object.assign(bar, { hidden: !long, textContent: long ?? "" });
  if (bar.offsetHeight !== before) hasMoved(); // all below it has
};
const heard = () => {
  Object.assign(line, { heard: Date.now(), tries: 0, late: null });
  tell("", "Live");
};
const waits = (waiting, title) => {
  document.title = waiting === 0 ? title : `(${waiting}) ${title}`;
  const count = byId("waiting-count");
  count.hidden = waiting === 0;
  count.textContent = String(waiting);
  count.setAttribute("aria-label", `${waiting} wait for you`);
  const icon = waiting === 0 ? "/assets/favicon.svg" : "/assets/favicon-waiting.svg";
  if (!byId("favicon").href.endsWith(icon)) byId("favicon").href = icon;
};
const connect = () => {
  if (line.asleep) return;
  clearTimeout(line.retry);
  line.stream?.close();
  const page = ({ data }) => {
    const { html, title, waiting } = JSON.parse(data);
    if (html != null) morph(html);
    waits(waiting, title.replace(/^\(\d+\) /, ""));
    heard();
  };
  line.stream = follow(() => location.pathname + location.search, { page, beat: heard }, again);
};
const again = async () => {
  line.late ??= Date.now();
  const delay = DELAYS[Math.min(line.tries, DELAYS.length - 1)] * (0.8 + Math.random() * 0.2);
  line.tries++;
  const seen = line.heard ? ` What you see is from ${clockOf(line.heard)}.` : "";
  const away = navigator.onLine === false || Date.now() - line.late > 30_000;
  if (away) tell("off", `Offline since ${clockOf(line.late)}`, `Vigie does not answer since ${clockOf(line.late)}.${seen}`);
  else tell("late", "Reconnecting", `Reconnecting.${seen} Nothing will be missed.`);
  clearTimeout(line.retry);
  line.retry = setTimeout(connect, delay * 1000);
  // Signed out is told apart from away: the page then leads to the login.
  const answer = await fetch("/api/v1/daemon", { redirect: "manual" }).catch(() => null);
  if (answer?.status === 401) location.assign("/login");
};
setInterval(() => { if (!line.asleep && line.heard && Date.now() - line.heard > SILENT) connect(); }, 5_000);
addEventListener("online", connect);

// A page that nobody sees gives its seat back, and asks now and then how many wait, for its title and its
// icon.
const UNSEEN = 5_000; // ms; a look at another tab is shorter
const COUNTED = 20_000;
let unseen = null;
const sleep = () => {
  if (line.asleep) return;
  line.asleep = true;
  clearTimeout(line.retry);
  line.stream?.close();
  document.dispatchEvent(new CustomEvent("asleep"));
  tell("late", "Paused");
};
const wake = () => {
  clearTimeout(unseen);
  clearInterval(line.counts);
  if (!line.asleep) return;
  line.asleep = false;
  connect();
  document.dispatchEvent(new CustomEvent("awake"));
};
const countWaiting = async () => {
  const answer = await fetch("/waiting/count").catch(() => null);
  if (!answer?.ok || !line.asleep) return;
  const { waiting } = await answer.json();
  waits(waiting, document.title.replace(/^\(\d+\) /, ""));
};
addEventListener("pagehide", sleep);
addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
document.addEventListener("visibilitychange", () => {
  clearTimeout(unseen);
  clearInterval(line.counts);
  if (!document.hidden) {
    wake();
    if (!line.heard || Date.now() - line.heard > 25_000) connect();
    return;
  }
  unseen = setTimeout(() => {
    sleep();
    line.counts = setInterval(countWaiting, COUNTED);
  }, UNSEEN);
});

// Asking for something to be done: one request, and its words.
let hide = null;
const say = (words) => {
  const node = byId("said");
  node.textContent = words;
  clearTimeout(hide);
  hide = setTimeout(() => { node.textContent = ""; }, 6_000);
};
// Kept when this browser signed in; pages of other ports cannot read it.
const pass = () => {
  try {
    return localStorage.getItem("vigie.pass") ?? "";
  } catch {
    return "";
  }
};
const PATIENCE = 20_000; // ms; longer than a commit on a slow disk
const request = async (path, body, method = "POST") => {
  const options = { method, headers: { "content-type": "application/json", "x-vigie-pass": pass() } };
  const signal = AbortSignal.timeout(PATIENCE);
  const answer = await fetch(`/api/v1${path}`, { ...options, signal, body: JSON.stringify(body) }).catch(() => null);
  if (!answer) throw new Error("No answer came from Vigie: it may have been done, or not. Look, and try again once it is live.");
  if (answer.status === 401) location.assign("/login");
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const words = [told.error ?? `Not done (${answer.status})`, told.hint].filter(Boolean).join(". ");
    throw Object.assign(new Error(words), { told });
  }
  return told;
};
const place = (node) => node.closest("form, article, section")?.querySelector("[role=alert]");
/** Runs `work` with the buttons beside `node` held, and says what came of it. */
const attempt = async (node, work) => {
  const near = node.closest("article") ?? node.closest("form") ?? node;
  const buttons = [...near.querySelectorAll("button")];
  const alert = place(node) ?? near.querySelector("[role=alert]");
  if (alert) alert.hidden = true;
  for (const button of buttons) button.disabled = true;
  try {
    const told = await work();
    if (told?.words) say(told.words);
    return told;
  } catch (failed) {
    // The card may be gone the next moment, decided by somebody else.
    if (alert) Object.assign(alert, { hidden: false, textContent: failed.message });
    if (!alert || near.matches("article")) say(failed.message);
    return null;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
};
const fields = (form) => {
  const body = {};
  for (const { name, type, value, checked } of form.elements) {
    if (!name) continue;
    if (type === "checkbox") body[name] = checked;
    else if (value.trim() !== "" || form.dataset.empty) body[name] = value;
  }
  return body;
};
const answer = (code, choice, node) => attempt(node, () => request(`/waiting/${code}/answer`, { choice }));

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const { post, then, confirm, words, prefix, sure } = form.dataset;
  if (confirm != null) {
    event.preventDefault();
    const code = form.elements.code.value.trim().toUpperCase();
    if (code !== confirm) Object.assign(place(form.closest("article")) ?? {}, { hidden: false, textContent: `Type ${confirm} to approve.` });
    else await answer(code, "approve", form);
  } else if (words != null) {
    event.preventDefault();
    const told = await answer(words, prefix + form.elements.words.value.trim(), form);
    if (told) form.reset();
  } else if (post != null) {
    event.preventDefault();
    if (sure && !window.confirm(sure)) return;
    const told = await attempt(form, () => request(post, fields(form), form.dataset.method));
    if (!told) return;
    form.reset();
    if (then) location.assign(then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(told[name] ?? "")));
  }
});
document.addEventListener("click", (event) => {
  const node = event.target.closest?.("[data-tap]");
  if (node) attempt(node, () => request("/waiting/tap", { action: node.dataset.tap }));
});
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-go]");
  if (form) form.requestSubmit();
});

// The keyboard: / finds, J and K go through the queue, A, D and numbers answer.
const writes = (node) => node.closest?.("input, textarea, select, [contenteditable], [data-keys]");
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || writes(event.target)) return;
  const key = event.key.toLowerCase();
  const gates = [...document.querySelectorAll(".gate:not(.decided)")];
  const at = gates.findIndex((gate) => gate.contains(document.activeElement));
  if (key === "/") {
    const field = document.querySelector('[data-key="/"]');
    if (field) { event.preventDefault(); field.focus(); }
  } else if (key === "j" || key === "k") {
    const next = gates[at < 0 ? 0 : Math.min(Math.max(at + (key === "j" ? 1 : -1), 0), gates.length - 1)];
    if (next) { event.preventDefault(); next.focus(); next.scrollIntoView({ block: "nearest" }); }
  } else if (/^[ad1-9]$/.test(key) && !event.repeat) {
    // An answer goes to the card that is held, never to one nobody chose, and a key that is held down
    // answers once.
    gates[at]?.querySelector(`[data-key="${key}"]`)?.click();
  }
});

localise(document);
const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
connect();
