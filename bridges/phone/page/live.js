// The connection: live, coming back, or away; always true. It continues from the last change seen.
import { get, model, apply, changed, load, onSignedOut, Refused } from "./model.js";
import { clock, el, pageMoved } from "./dom.js";

const SILENT = 40_000; // two heartbeats and a half
const AWAY = 30_000; // longer than this is no blip
const DELAYS = [1, 2, 4, 5]; // s; the last one holds on, so that nobody waits long before the page
const HIDDEN = 30; // s, while nobody looks
const BRIEF = 5_000; // a stream that ends sooner is not tried again at once

// heard: when anything came last; until: when the next try begins
const state = { kind: "late", heard: null, since: Date.now(), until: null, tries: 0, stream: null, out: false };
let retry = null;
let attempt = 0;

const listeners = new Set();
export const onLive = (listener) => listeners.add(listener);
export const isLive = () => state.kind === "live";

export const connect = async () => {
  const mine = ++attempt; // a later one makes this one void
  clearTimeout(retry);
  state.stream?.close();
  Object.assign(state, { stream: null, until: null });
  if (state.kind === "live") Object.assign(state, { kind: "late", since: state.heard ?? Date.now() });
  show();
  try {
    await catchUp();
    state.out = false;
  } catch (failed) {
    if (mine === attempt) again(failed);
    return;
  }
  if (mine === attempt) follow(mine);
};

const catchUp = async () => {
  if (!model.cursor) return load();
  for (;;) {
    const next = await get("changes", { from: model.cursor });
    if (next.then === "anew") return load();
    apply(next);
    if (!next.more) return;
  }
};

const follow = async (mine) => {
  const give = await seats.take();
  if (mine !== attempt) return give?.();
  const opened = Date.now();
  const stream = new EventSource(`/phone/api/live?from=${encodeURIComponent(model.cursor)}`);
  const heard = () => {
    if (mine !== attempt) return;
    const back = state.kind !== "live";
    Object.assign(state, { kind: "live", heard: Date.now(), tries: 0 });
    show();
    if (back) listeners.forEach((listener) => listener());
  };
  stream.addEventListener("changes", ({ data }) => {
    if (mine !== attempt) return;
    apply(JSON.parse(data));
    heard();
    if (give) return;
    stream.close();
    retry = setTimeout(() => follow(mine), seats.aside);
  });
  stream.addEventListener("beat", heard);
  stream.addEventListener("health", ({ data }) => {
    if (mine !== attempt) return;
    model.health = JSON.parse(data);
    heard();
    changed();
  });
  stream.addEventListener("anew", () => {
    if (mine !== attempt) return;
    model.cursor = null;
    connect();
  });
  stream.onerror = () => {
    if (mine !== attempt) return;
    // Most often Vigie began anew, or this device was signed out: the first try tells.
    if (Date.now() - opened > BRIEF) connect();
    else again();
  };
  state.stream = { close: () => { stream.close(); give?.(); } };
};

const again = (failed) => {
  state.stream?.close();
  state.stream = null;
  state.out = failed instanceof Refused && failed.status === 401;
  if (state.kind === "live") Object.assign(state, { kind: "late", since: state.heard });
  const seconds = document.hidden ? HIDDEN : DELAYS[Math.min(state.tries, DELAYS.length - 1)];
  state.tries++;
  const delay = seconds * 1000 * (0.8 + Math.random() * 0.2); // not all pages at the same moment
  state.until = Date.now() + delay;
  clearTimeout(retry);
  retry = setTimeout(connect, delay);
  show();
};

const ill = () => (model.health ? `Vigie cannot write to its disk. What you write is kept on this phone. (${model.health})` : null);

const words = () => {
  if (state.out) return ["off", "Signed out", "You are signed out here. What you write is kept on this phone; sign in again to send it."];
  if (state.kind === "live") {
    const quiet = Math.round((Date.now() - state.heard) / 1000);
    return ["", quiet > 20 ? `Live, ${quiet} s ago` : "Live", ill()];
  }
  if (!state.heard && state.tries === 0) return ["late", "Connecting", null];
  if (navigator.onLine === false || Date.now() - state.since > AWAY) {
    return ["off", `Offline since ${clock(state.since)}`, `Offline since ${clock(state.since)}. What you write is kept on this phone and sent first.`];
  }
  const left = state.until ? Math.max(0, Math.ceil((state.until - Date.now()) / 1000)) : 0;
  const seen = state.heard ? `What you see is from ${clock(state.heard)}; nothing will be missed.` : "";
  return ["late", left ? `Reconnecting, ${left} s` : "Reconnecting", `Reconnecting. ${seen}`.trim()];
};

const tryNow = () => el("button", { type: "button", class: "link", on: { click: () => connect() } }, "Try now");

const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };

const show = () => {
  const [look, short, long] = words();
  for (const mark of document.querySelectorAll("[data-conn]")) {
    mark.className = `conn ${look} ${mark.classList.contains("phone-only") ? "phone-only" : ""}`.replace(/ +/g, " ").trim();
    set(mark, short);
  }
  for (const bar of document.querySelectorAll("[data-conn-bar]")) {
    bar.className = `conn-bar ${look === "off" || look === "" ? "off" : ""}`.trim();
    // Only what changed, so that a button under the finger stays.
    const way = !long ? "" : state.out ? "in" : state.kind === "live" ? "" : "now";
    if (bar.dataset.says === `${way} ${long}`) continue;
    bar.dataset.says = `${way} ${long}`;
    const [held, before] = [bar.contains(document.activeElement), bar.offsetHeight];
    bar.hidden = !long;
    bar.replaceChildren(long ?? "", ...(way === "in" ? [" ", el("a", { href: "/login" }, "Sign in")] : way === "now" ? [" ", tryNow()] : []));
    if (held) bar.querySelector("a, button")?.focus();
    if (bar.offsetHeight !== before) pageMoved(); // all below it has
  }
};

onSignedOut((refused) => {
  if (state.out) return;
  attempt++; // what is open belongs to who was signed in
  again(refused);
});
setInterval(() => {
  if (state.kind === "live" && Date.now() - state.heard > SILENT) connect();
  show();
}, 1000);
addEventListener("online", () => connect());
addEventListener("offline", () => { again(); });
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
document.addEventListener("visibilitychange", () => {
  // A phone that slept has a stream that only looks open.
  if (!document.hidden && (state.kind !== "live" || Date.now() - state.heard > 20_000)) connect();
});
