// One chat: its log, where it stands in it, and the place to write.
import { announce, dayName, dayOf, el, icon, pageMoved, said, settle } from "./dom.js";
import { message, summary, unsent } from "./message.js";
import { composer, stateOf } from "./composer.js";
import { MAIN, belongs, keyOf, model, number, older, openLog, post, threadOf, trim } from "./model.js";
import { keepTyped, sameIn } from "./card.js";
import { command, newSession, sessionMenu } from "./commands.js";
import { drop, pending, retry, survives } from "./outbox.js";
import { isLive } from "./live.js";

const log = document.getElementById("log");
const dock = document.getElementById("dock");
const title = document.getElementById("talk-title");
const about = document.getElementById("talk-about");
const menu = document.getElementById("talk-menu");
menu.addEventListener("click", () => {
  const mine = current;
  const { key } = mine;
  sessionMenu(model.threads.get(key), async (text) => {
    const failed = await command(threadOf(key), text);
    if (mine === current) mine.writer?.complain(failed);
  });
});
// Messages kept of a chat at its end, and of those that are not shown: a page may stay open for weeks.
const [LONGEST, KEPT, KEPT_ELSEWHERE] = [600, 300, 50];
const NEAR = 120; // px from the end that still count as the end

let current = null; // { key, nodes, writer, firstNew, fresh, problem }
const jump = el("button", { type: "button", class: "btn jump", hidden: true });
jump.addEventListener("click", () => toEnd());

export const chatKey = () => current?.key ?? null;
export const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;
const toEnd = () => {
  scrollTo(0, document.documentElement.scrollHeight);
  seen();
};

export const act = {
  reply: (it) => {
    const begin = () => current?.writer?.reply(it);
    // Where the message is seen, there it is answered; from elsewhere, in its own chat.
    if (current && location.hash === linkTo(current.key) && belongs(it, current.key)) return begin();
    const there = linkTo(keyOf(it.thread));
    addEventListener("hashchange", begin, { once: true }); // by then the chat is shown
    location.hash = there;
  },
  edit: (it) => current.writer.edit(it),
  retry,
  drop: (entry) => {
    drop(entry.client);
    current.writer.put(entry.text);
  },
  again: (it) => post("again", { message: it.id }).catch((failed) => announce(failed.message)),
  open: (id) => {
    const node = document.getElementById(id);
    if (!node) return announce("That message is further up");
    node.scrollIntoView({ block: "center" });
    node.tabIndex = -1;
    node.focus({ preventScroll: true });
  },
};

export const linkTo = (key) => (key === MAIN ? "#/chat" : `#/chat/${encodeURIComponent(key)}`);

export const openChat = async (key) => {
  const ready = model.person !== null && model.threads.has(key);
  current = { key, nodes: new Map(), writer: null, firstNew: null, fresh: 0, problem: null };
  const mine = current;
  for (const other of model.logs.keys()) if (other !== key) trim(other, KEPT_ELSEWHERE);
  settle(log, [el("p", { class: "note empty" }, model.person && !ready ? "This chat is not here any more." : "Loading")]);
  dock.replaceChildren();
  head();
  if (!ready) return;
  mine.writer = composer(key, () => toEndSoon());
  dock.replaceChildren(jump, mine.writer.node);
  jump.hidden = true;
  try {
    await openLog(key);
  } catch (failed) {
    if (mine === current) {
      const button = el("button", { type: "button", class: "btn", on: { click: () => openChat(key) } }, "Try again");
      settle(log, [el("div", { class: "note empty" }, el("p", {}, `${failed.message}.`), button)]);
      mine.problem = true;
    }
    return;
  }
  if (mine !== current) return;
  const { unread } = model.threads.get(key);
  const { ids } = model.logs.get(key);
  if (unread) mine.firstNew = ids.find((id) => isNew(model.messages.get(id))) ?? null;
  mine.unread = unread;
  draw();
  const mark = log.querySelector(".day.new");
  if (mark && mark.getBoundingClientRect().bottom < 0) mark.scrollIntoView();
  if (mark && document.documentElement.scrollHeight > innerHeight * 1.5) mark.scrollIntoView({ block: "center" });
  else toEnd();
  seen();
};

/** Seen in neither view: beyond the mark of its thread and that of the main chat. */
const isNew = (it) => !it.what.mine && [keyOf(it.thread), MAIN].every((key) => number(it.id) > number(model.threads.get(key)?.read ?? "-0"));

export const closeChat = () => {
  current = null;
  settle(log, [el("p", { class: "note empty" }, "Pick a chat on the left.")]);
  dock.replaceChildren();
  head();
};

const toEndSoon = () => requestAnimationFrame(toEnd);

/** Draws what changed and stays where the reader is. */
export const refreshChat = ({ messages, reset }) => {
  if (!current) return;
  if (!current.writer || (reset && !model.logs.has(current.key)) || current.problem) {
    openChat(current.key);
    return;
  }
  if (!model.logs.has(current.key)) return;
  if (reset) current.nodes.clear();
  const end = atEnd();
  head();
  current.writer.refresh();
  const here = messages.filter((it) => belongs(it, current.key));
  const fresh = here.filter((it) => !current.nodes.has(it.id) && !it.what.mine);
  draw();
  if (fresh.length) pageMoved();
  if (fresh.length) announce(fresh.length === 1 ? summary(fresh[0]) : `${fresh.length} new messages`);
  if (end && !document.hidden) toEndSoon();
  else if (fresh.length) {
    current.fresh += fresh.length;
    jump.replaceChildren(icon("i-down"), `${current.fresh} new`);
    jump.hidden = false;
  }
};

const head = () => {
  const thread = current ? model.threads.get(current.key) : null;
  const main = !thread?.session;
  title.replaceChildren(current ? (main ? "Main chat" : el("span", {}, el("span", { class: "mono" }, thread.session), ` ${thread.title}`)) : "Chats");
  menu.hidden = main;
  if (!current || !model.person) return about.replaceChildren();
  if (!main) return about.replaceChildren(stateOf(thread));
  const all = [...model.threads.values()].filter((it) => it.session);
  const open = all.filter((it) => !["ended", "lost"].includes(it.state)).length;
  const work = all.filter((it) => it.state === "working").length;
  about.replaceChildren(open === 0 ? "no session is open" : work === 0 ? `${open} open` : `${open} open, ${work === 1 ? "1 works" : `${work} work`}`);
};

const draw = () => {
  const { ids, older: more } = model.logs.get(current.key);
  const wanted = [];
  if (more) wanted.push(cached("older", 0, () => el("button", { type: "button", class: "btn quiet older", on: { click: earlier } }, "Earlier messages")));
  let day = null;
  for (const id of ids) {
    const it = model.messages.get(id);
    if (!it) continue;
    if (dayOf(it.at) !== day) {
      day = dayOf(it.at);
      wanted.push(cached(`day ${day}`, 0, () => el("p", { class: "day" }, dayName(it.at))));
    }
    if (id === current.firstNew) wanted.push(cached("new", 0, () => el("p", { class: "day new" }, `${current.unread} new`)));
    wanted.push(cached(id, it.seq, () => message(it, act, current.key)));
  }
  for (const entry of pending(current.key)) {
    wanted.push(cached(entry.client, `${entry.state} ${isLive()} ${model.health}`, () => unsent(entry, act, isLive(), current.key)));
  }
  if (!survives()) wanted.push(cached("storage", 0, () => el("p", { class: "note" }, "This browser keeps nothing for this page: what is not sent is lost when you close it.")));
  if (wanted.length === 0) wanted.push(cached("empty", 0, () => begin(model.threads.get(current.key))));
  settle(log, wanted);
  refocus?.focus({ preventScroll: true });
  refocus = null;
};

/** How to begin, where nothing was said yet. */
const begin = ({ session }) => {
  const nothing = el("p", {}, "Nothing was said here yet.");
  if (session) return el("div", { class: "note empty" }, nothing, el("p", {}, "What you write here goes to ", el("b", { class: "key" }, said(session)), "."));
  const start = el("button", { type: "button", class: "btn go", on: { click: () => newSession(() => {}) } }, icon("i-plus"), "New session");
  return el("div", { class: "note empty begin" }, nothing, start,
    el("p", {}, el("code", {}, "[NAME] text"), " tells a session something; in its own chat it needs no name."),
    el("p", {}, el("code", {}, "/help"), " lists what you can write here."));
};

/** The node for a state that is shown already, or a new one. */
const cached = (name, state, make) => {
  const found = current.nodes.get(name);
  if (found?.state === state) return found.node;
  const node = make();
  if (found) carryOver(found.node, node);
  current.nodes.set(name, { state, node });
  return node;
};

let refocus = null;
/** Whoever was in the old node is in the new one, with what is half typed. */
const carryOver = (old, node) => {
  const held = document.activeElement;
  const field = keepTyped(old, node);
  if (!old.contains(held)) return;
  node.tabIndex = -1;
  refocus = field ?? sameIn(node, held) ?? node;
};

const earlier = async (event) => {
  const button = event.currentTarget;
  const mine = current;
  button.disabled = true;
  try {
    await older(mine.key);
  } catch (failed) {
    announce(failed.message);
  }
  button.disabled = false;
  if (mine !== current) return;
  const below = document.documentElement.scrollHeight - scrollY;
  draw();
  scrollTo(0, document.documentElement.scrollHeight - below); // what was read stays where it was
};

/** Tells Vigie that all of this was seen, once it really was. */
export const seen = () => {
  if (!current || document.hidden || !atEnd()) return;
  jump.hidden = true;
  current.fresh = 0;
  if (model.logs.get(current.key)?.ids.length > LONGEST && trim(current.key, KEPT)) {
    for (const name of current.nodes.keys()) if (!model.messages.has(name)) current.nodes.delete(name);
    draw();
    scrollTo(0, document.documentElement.scrollHeight);
  }
  const thread = model.threads.get(current.key);
  const last = model.logs.get(current.key)?.ids.at(-1);
  if (!last || !thread?.unread || thread.reading === last) return;
  thread.reading = last;
  // Not worth a word when it fails: the next look tells it again.
  post("read", { thread: threadOf(current.key), message: last }).catch(() => { thread.reading = null; });
};
addEventListener("scroll", seen, { passive: true });
addEventListener("focus", seen);

export const focusWriter = () => current?.writer?.focus();
export const redraw = () => { if (current?.writer && model.logs.has(current.key)) draw(); };
