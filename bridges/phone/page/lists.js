// The list of chats, and what waits.
import { clock, el, icon, key, pageMoved, said, settle, since, tick, time } from "./dom.js";
import { MAIN, atDesk, cardOf, decided, keyOf, model, number, waiting } from "./model.js";
import { linkTo, act } from "./chat.js";
import { stateOf } from "./composer.js";
import { byMe, line } from "./message.js";
import { card, gist, keepTyped, sameIn } from "./card.js";
import { plain } from "./rich.js";

const shown = new Map(); // of the list: by thread key
const threads = document.getElementById("threads");
const page = document.getElementById("waiting");

const none = el("p", { class: "note" }, "No session yet. The + above starts one.");

export const drawThreads = (chosen) => {
  const all = [...model.threads.entries()];
  const recent = (a, b) => number(b[1].last?.id ?? "-0") - number(a[1].last?.id ?? "-0");
  const over = ([, thread]) => ["ended", "lost"].includes(thread.state);
  const sessions = all.filter(([name]) => name !== MAIN).sort(recent);
  const group = (name, list) => (list.length ? [el("h2", { class: "group" }, name), el("ul", {}, ...list.map((entry) => row(entry, chosen)))] : []);
  settle(threads, [
    el("ul", {}, ...all.filter(([name]) => name === MAIN).map((entry) => row(entry, chosen))),
    ...group("Open", sessions.filter((entry) => !over(entry))),
    ...group("Ended", sessions.filter(over)),
    ...(sessions.length ? [] : [none]),
  ]);
};

const row = ([name, thread], chosen) => {
  const state = JSON.stringify([thread, name === chosen]);
  if (shown.get(name)?.state === state) return shown.get(name).node;
  const { last, unread } = thread;
  const words = thread.state === "working" ? [" ", since(thread.since, "for")] : thread.state === "ended" || thread.state === "lost" ? [", ", time(thread.since)] : [];
  const node = el("li", {}, el("a", { class: `thread ${unread ? "unread" : ""}`.trim(), href: linkTo(name), ...(name === chosen ? { "aria-current": "page" } : {}) },
    el("span", { class: "name" }, thread.session ? key(thread.session) : null, thread.session ? " " : null, el("span", {}, thread.session ? said(thread.title) : "Main chat")),
    last ? time(last.at) : el("span"),
    el("span", { class: "last" }, last ? (last.who && !thread.session ? said(`${last.who}: ${last.excerpt}`) : said(last.excerpt)) : "Nothing said yet"),
    el("span", { class: "marks" }, unread ? el("span", { class: "count new", "aria-label": `${unread} unread` }, unread > 99 ? "99+" : String(unread)) : null),
    thread.session ? stateOf(thread, ...words) : null));
  shown.set(name, { state, node });
  return node;
};

/** The strip under each title: it never vanishes. */
export const drawStrips = () => {
  const open = waiting();
  const oldest = open[0] && cardOf(open[0]).opened;
  const desk = atDesk();
  const last = open.length || desk.length ? null : lastAnswer();
  const state = JSON.stringify([open.length, oldest, desk.map((thread) => thread.id), last]);
  for (const place of document.querySelectorAll("[data-strip]")) {
    if (place.dataset.strip === state) continue;
    place.dataset.strip = state;
    const strip = (next, ...words) => el("a", { class: "strip", href: "#/waiting" }, icon("i-bell"), el("span", { class: "what" }, ...words), el("span", { class: "next" }, next, " ", icon("i-next")));
    const away = desk.length > 1 ? `${desk.length} need you at the desk` : desk.length ? `${desk[0].session} needs you at the desk` : null;
    place.replaceChildren(open.length
      ? strip("Answer", open.length === 1 ? "1 waits for you, " : `${open.length} wait for you, oldest `, since(oldest), away ? `. ${away}` : "")
      : away ? strip("Look", away)
      : el("p", { class: "strip none" }, `Nothing waits for you.${last ?? ""}`));
  }
  return open.length + desk.length;
};
const lastAnswer = () => {
  const last = decided().map((it) => cardOf(it).state).find((state) => state.state !== "closed");
  return last ? ` Last answer ${clock(Date.parse((last.decided ?? last).at))}.` : null;
};

let first = null; // the gate that is shown whole
// The gate that a person took in hand, by J, K, its row or the focus: keys answer no other, and no second
// one after it.
let chosen = null;
page.addEventListener("focusin", ({ target }) => { chosen = target.closest(".gate")?.dataset.gate ?? null; });
const nodes = new Map();

/** One at a time, oldest first: the answer lies under the thumb, and the next card comes by itself. */
export const drawWaiting = () => {
  const open = waiting();
  const at = Math.max(0, open.findIndex((it) => cardOf(it).gate === first));
  const now = open[at];
  const next = now ? cardOf(now).gate : null;
  if (first && next !== first) pageMoved(); // another card lies under the thumb
  first = next;
  const desk = atDesk();
  const state = JSON.stringify([open.map((it) => [it.id, it.seq]), first, decided().map((it) => it.seq), desk]);
  if (page.dataset.state === state) return;
  const held = page.contains(document.activeElement) ? document.activeElement : null;
  page.dataset.state = state;
  const old = page.querySelector(".gate");
  const same = held && old?.dataset.gate === next;
  const shownCard = now ? (nodes.get(`${now.id} ${now.seq}`) ?? card(now, act)) : null;
  const typed = old && shownCard && old !== shownCard && old.dataset.gate === next ? keepTyped(old, shownCard) : null;
  nodes.clear();
  if (now) {
    nodes.set(`${now.id} ${now.seq}`, shownCard);
    shownCard.id = `waiting-${now.id}`; // the chat may hold the same card
    shownCard.tabIndex = -1;
    shownCard.dataset.gate = next;
  }
  const rest = open.filter((it) => it !== now);
  const done = decided();
  settle(page, [
    el("p", { class: "conn-bar", "data-conn-bar": true, hidden: true, role: "status" }),
    el("div", { class: "head" }, el("h1", {}, "Waiting"),
      el("p", { class: "dim small" }, ...(now ? [`${at + 1} of ${open.length}, oldest first: `, since(cardOf(now).opened)] : [desk.length ? "Nothing to answer from here." : "Nothing waits for you."])),
      now ? el("div", { class: "end wide-only" }, el("p", { class: "dim small" }, ...keys())) : null),
    el("div", { class: "cols queue" },
      el("div", { class: "stack" }, shownCard, rest.length ? section("Then", rest.map(later)) : null,
        desk.length ? section("At the desk", desk.map(walk)) : null),
      done.length ? section("Decided", done.map(over)) : null),
  ]);
  // Another card than the one that was held is nobody's choice: the page has the focus.
  if (held && (typed || !page.contains(document.activeElement))) (typed ?? (same ? sameIn(shownCard, held) ?? shownCard : page)).focus({ preventScroll: true });
  if (chosen !== next) chosen = null;
};

const keys = () => {
  const hint = (name, words) => [el("kbd", {}, name), ` ${words}\u2002`];
  return [...hint("A", "approve"), ...hint("D", "deny"), ...hint("1", "to 9 choose"), ...hint("J", "next"), ...hint("K", "previous")];
};
const section = (name, rows) => el("section", { class: "band", "aria-label": name }, el("h2", {}, name), el("ol", { class: "list panel" }, ...rows));

const later = (it) => {
  const { gate, title, opened, risk, kind, content } = cardOf(it);
  const question = kind === "question" ? plain(content).replace(/\s+/g, " ").trim() : "";
  const button = el("button", { type: "button", class: "open" },
    el("span", { class: "line" }, el("span", {}, ...(it.what.from ? [key(it.what.from), " "] : []), said(title)), since(opened)),
    question ? el("span", { class: "small dim brief" }, said(question)) : null,
    risk === "code" ? el("span", { class: "small bad" }, "needs its code") : null);
  button.addEventListener("click", () => {
    take(gate);
    scrollTo(0, 0);
  });
  return el("li", {}, button);
};

const walk = (thread) => el("li", {}, el("a", { class: "open", href: linkTo(keyOf(thread.id)) },
  el("span", { class: "line" }, el("span", {}, key(thread.session), " ", said(thread.title)), since(thread.since)), stateOf(thread)));

const over = (it) => {
  const { state, title } = cardOf(it);
  const what = gist(cardOf(it));
  const by = state.decided ?? state;
  const shut = state.state === "closed";
  const at = Date.parse(by.at);
  return el("li", {},
    el("div", { class: "line" },
      el("span", {}, key(it.what.from ?? "Vigie"), " ", el("span", { class: shut || /^den/i.test(by.verdict) ? "dim" : "good" }, shut ? "closed" : said(by.verdict))), time(at)),
    what ? el("p", { class: `small brief ${cardOf(it).kind === "permission" ? "mono" : ""}`.trim(), dir: "auto" }, said(what)) : null,
    el("p", { class: "small dim" }, said(title), ". ", ...(shut ? [said(by.why)] : [said(byMe(by.by)), ", from ", said(by.via), state.state === "answered" ? ", not yet taken" : ""])));
};

const take = (gate) => {
  first = gate;
  drawWaiting();
  page.querySelector(".gate")?.focus();
  chosen = gate; // a window that is behind another is not told of its focus
};
export const step = (by) => {
  const open = waiting();
  const at = open.findIndex((it) => cardOf(it).gate === first);
  // The first of these keys takes what is shown.
  const to = open[chosen === null ? Math.max(0, at) : Math.min(open.length - 1, Math.max(0, at + by))];
  if (!to) return;
  take(cardOf(to).gate);
};

/** A key of the queue presses the button that says so, of the very card that was chosen, once. */
export const press = (name) => {
  const gate = page.querySelector(".gate");
  if (!gate || gate.dataset.gate !== chosen) return gate && line(gate)("No card is chosen. J chooses this one.");
  const button = /^[1-9]$/.test(name) ? gate?.querySelector(`[data-key="${name}"]`) : gate?.querySelector(`[data-act="${name}"]`) ?? (name === "approve" ? gate?.querySelector('[data-act="submit"]') : null);
  if (button?.checkVisibility()) {
    if (button.ariaPressed == null) chosen = null; // a box may be followed by the next box
    button.click();
  } else if (button) gate.querySelector(".reason textarea")?.focus();
  else if (name === "approve") gate?.querySelector(".confirm input")?.focus();
};

setInterval(tick, 5000);
