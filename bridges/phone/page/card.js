// What waits for a person, from asked to taken. All of it is shown before the button that allows it.
import { ahead, clock, el, icon, key, said, time } from "./dom.js";
import { blocks, codeBlock, diff, hasBlocks, plain } from "./rich.js";
import { byMe, line, tap } from "./message.js";
import { newId, post } from "./model.js";

let forms = 0; // for ids of fields and their labels

export const card = (message, act) => {
  const { body: it, from } = message.what;
  const state = it.state;
  const node = state.state === "open" ? open(message, it, from, act)
    : state.state === "closed" ? closed(it, from, state)
    : decided(it, from, state);
  node.id = message.id;
  return node;
};

const frame = (look, mark, title, code) => {
  const head = `card-${++forms}`;
  return el("article", { class: `gate ${look}`.trim(), "aria-labelledby": head },
    el("header", {}, icon(mark), el("h2", { id: head }, ...title), el("span", { class: "code", title: "the card's code" }, code)));
};

/** Whoever asks; a run is named in the title. */
const asker = (from) => (from ? [key(from), " "] : []);
const asks = (it, from) => [...asker(from), said(it.title), ", ", time(it.opened, clock(it.opened))];

const mark = (it) => {
  if (it.risk === "code") return "i-warn";
  if (it.kind === "question" || it.kind === "approval") return "i-ask";
  if (it.kind === "plan") return "i-plan";
  return it.diff ? "i-edit" : "i-screen";
};

const open = (message, it, from, act) => {
  const node = frame(it.risk === "code" ? "risky" : "", mark(it), asks(it, from), it.code);
  node.append(...content(it, [["Until", [time(it.until, ahead(it.until)), ", ", it.lapse]]]));
  const groups = sort(it.buttons);
  node.append(...choices(message, it, groups.choose));
  const acts = actions(message, it, groups, act);
  if (acts) node.append(acts);
  if (it.answer) node.append(el("p", { class: "answer", dir: "auto" }, said(it.answer)));
  return node;
};

const decided = (it, from, state) => {
  const by = state.decided ?? state;
  const denied = /^den/i.test(by.verdict);
  const who = [el("b", {}, said(by.verdict)), " by ", said(byMe(by.by)), ", ", time(Date.parse(by.at), clock(Date.parse(by.at))), ", from ", said(by.via)];
  if (state.state === "answered") {
    const node = frame("", mark(it), asks(it, from), it.code);
    node.append(el("p", { class: "ask small dim" }, ...who, `. Not yet taken by the ${from ? "agent" : "run"}.`), asked(it, null));
    return node;
  }
  const node = frame(`decided ${denied ? "denied" : ""}`, denied ? "i-cross" : "i-tick", who, it.code);
  node.append(asked(it, [...asker(from), said(it.title), from ? `. The agent has it since ${clock(Date.parse(state.taken))}.` : "."]));
  return node;
};

const closed = (it, from, state) => {
  const at = Date.parse(state.at);
  const node = frame("decided", "i-clock", ["Closed at ", time(at, clock(at))], it.code);
  node.append(el("p", { class: "ask small dim", dir: "auto" }, said(state.why)), asked(it, [...asker(from), said(it.title)]));
  return node;
};

/** What was asked, folded: it is over. */
const asked = (it, words) => el("details", {}, el("summary", {}, ...(words ?? ["What it asks"])), ...content(it));

/** `more`: facts after the card's own, as a label and nodes. */
const content = (it, more = []) => {
  const out = [];
  if (it.content.length) {
    if (it.kind === "plan") out.push(el("div", { class: "doc" }, ...blocks(it.content)));
    else if (["question", "approval"].includes(it.kind) || hasBlocks(it.content)) out.push(...blocks(unlisted(it), { paragraph: "ask", code: (node) => codeBlock(node.children) }));
    else out.push(codeBlock(it.content));
  }
  if (it.diff) out.push(diff(it.diff));
  for (const warning of it.warnings) out.push(el("p", { class: "warn" }, icon("i-warn"), el("span", { dir: "auto" }, said(warning))));
  const facts = [...it.facts.map(({ label, value }) => [label, [said(value)]]), ...more];
  if (facts.length) {
    out.push(el("dl", { class: "facts" }, ...facts.flatMap(([label, value]) => [el("dt", {}, said(label)), el("dd", { dir: "auto" }, ...value)])));
  }
  return out;
};

/** What it is about in one line, shown as content is; empty when only its title says it. */
export const gist = (it) => {
  const [line, ...rest] = plain(it.content).split("\n").map((line) => line.trim()).filter(Boolean);
  if (line) return rest.length ? `${line} …` : line;
  const names = [...(it.diff ?? "").matchAll(/^(?:\+\+\+ (?:b\/)?|--- (?:a\/)?)(.+)$/gm)].map(([, name]) => name).filter((name) => name !== "/dev/null");
  return names.at(-1) ?? "";
};

/** The content without the lines that stand below as buttons, word for word. */
const unlisted = (it) => {
  const listed = new Set(it.buttons.filter(({ action }) => action.action === "choose")
    .map(({ label, detail, action }) => `${action.option + 1}. ${label.replace(TICK, "")}${detail ? `: ${detail}` : ""}`));
  const keep = (line) => !listed.has(line.trim().replace(TICK, ""));
  return it.content.map((node) => (node.node === "text" ? { ...node, text: node.text.split("\n").filter(keep).join("\n") } : node));
};

const sort = (buttons) => {
  const groups = { choose: [], deny: null, allow: null, session: null, edits: null, back: null, other: [] };
  const place = { deny: "deny", allow: "allow", allow_for_session: "session", allow_with_edits: "edits", send_back: "back" };
  for (const button of buttons) {
    const { action } = button.action;
    if (action === "choose" || action === "submit") groups.choose.push(button);
    else if (place[action] && !groups[place[action]]) groups[place[action]] = button;
    else groups.other.push(button);
  }
  return groups;
};

/** The options, question by question, numbered through so that a key can name each. */
const choices = (message, it, list) => {
  const questions = [...new Set(list.map((button) => button.action.question))].sort((a, b) => a - b);
  let number = 0;
  const all = [];
  const groups = questions.map((question) => {
    const group = el("div", { class: "choices", role: "group", "aria-label": questions.length > 1 ? `Question ${question + 1}` : "Options" });
    if (questions.length > 1) group.append(el("p", { class: "small dim" }, `Question ${question + 1}`));
    for (const button of list.filter(({ action }) => action.question === question)) {
      const node = button.action.action === "submit" ? done(button) : option(button, ++number);
      node.addEventListener("click", (event) => tap(message, button.action, all, event));
      all.push(node);
      group.append(node);
    }
    return group;
  });
  return groups;
};

// Of a question that takes several, each option says in its label whether it is ticked.
const TICK = /^([☐☑])\s*/u;

const option = (button, number) => {
  const tick = TICK.exec(button.label);
  return el("button", { type: "button", class: "choice", "data-key": number, "aria-pressed": tick ? String(tick[1] === "☑") : null },
    el("span", {}, String(number)),
    el("b", { dir: "auto" }, said(tick ? button.label.slice(tick[0].length) : button.label)),
    tick ? icon(tick[1] === "☑" ? "i-boxed" : "i-box") : null,
    button.detail ? el("small", { dir: "auto" }, said(button.detail)) : null);
};

const done = (button) => el("button", { type: "button", class: "btn go", "data-act": "submit" }, said(button.label));

/** What stands in a newer card where `held` stood in the old one. */
export const sameIn = (node, held) => {
  const { key: number, act } = held.dataset ?? {};
  return number ? node.querySelector(`[data-key="${number}"]`) : act ? node.querySelector(`[data-act="${act}"]`) : null;
};

const actions = (message, it, groups, act) => {
  const risky = it.risk === "code";
  const acts = el("div", { class: "acts" });
  const row = el("div", { class: "row" });
  const all = () => [...acts.querySelectorAll("button")];
  const go = (button, look, name) => {
    const node = el("button", { type: "button", class: `btn ${look}`.trim(), "data-act": name }, said(button.label));
    node.addEventListener("click", (event) => tap(message, button.action, all(), event));
    return node;
  };
  const weigh = ({ weight }) => (weight === "go" ? "go" : weight === "risk" ? "risk" : "");
  // Without words it is the bare denial, or nothing where it is about the words alone.
  const words = (name, label, ask, button, wrap) => {
    const node = el("button", { type: "button", class: "btn quiet", "data-words": name, "aria-expanded": "false" }, label);
    const bare = (event) => (name === "back" ? line(acts.closest(".gate"))("Write what should change.", true) : tap(message, groups.deny.action, all(), event));
    node.addEventListener("click", () => reason(acts, node, ask, button, (text, form, event) => (text ? answer(message, wrap(text), form) : bare(event))));
    return node;
  };

  if (groups.edits) acts.append(go(groups.edits, `all ${weigh(groups.edits)}`, "edits"));
  if (it.kind === "plan" && groups.deny) {
    // A plan is not refused but sent back: its answer is what should be different.
    if (groups.allow) acts.append(go(groups.allow, weigh(groups.allow), "approve"));
    const back = words("plan", `${groups.deny.label.replace(/…$/, "")}…`, "What should be different? It may stay empty.", "Send", (text) => text);
    back.classList.remove("quiet");
    back.dataset.act = "deny";
    acts.append(back);
  } else {
    const alone = risky || !groups.allow;
    if (groups.deny) acts.append(go(groups.deny, alone ? "all" : weigh(groups.deny), "deny"));
    if (groups.allow && !risky) acts.append(go(groups.allow, `${groups.deny ? "" : "all"} ${weigh(groups.allow)}`, "approve"));
    if (groups.session && !risky) row.append(go(groups.session, "quiet", "session"));
    if (groups.deny) row.append(words("deny", "Deny with a reason…", "Why, or what to do instead", groups.deny.label, (text) => `deny ${it.code} ${text}`));
    if (groups.back) row.append(words("back", said(groups.back.label), "What should change before it is asked again", "Send back", (text) => `back ${it.code} ${text}`));
  }
  if (risky) acts.append(confirm(message, it));
  for (const button of groups.other) row.append(go(button, "quiet", "other"));
  const own = it.kind === "question" ? "Answer in your own words…" : null;
  const reply = el("button", { type: "button", class: `btn quiet ${own ? "" : "icon"}`.trim(), "aria-label": own ? null : "Reply to this card", title: own ? null : "Reply" }, own ?? icon("i-reply"));
  reply.addEventListener("click", () => act.reply(message));
  row.append(reply);
  acts.append(row);
  return acts;
};

/** A risky card is allowed by its code, typed: it goes out as the text a person would write. */
const confirm = (message, it) => {
  const id = `code-${++forms}`;
  const field = el("input", { class: "input code", id, maxlength: 4, autocomplete: "off", autocapitalize: "characters", spellcheck: "false" });
  const button = el("button", { class: "btn risk", "aria-disabled": "true" }, "Approve");
  const form = el("form", { class: "confirm" }, el("label", { for: id }, "To approve, type ", el("b", { class: "mono" }, it.code)), field, button);
  const right = () => field.value.trim().toUpperCase() === it.code;
  field.addEventListener("input", () => button.setAttribute("aria-disabled", String(!right())));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (right()) answer(message, `approve ${it.code}`, form);
    else line(form.closest(".gate"))(`Type ${it.code} to approve.`, true);
  });
  return form;
};

/** Opens a field for a few words, which go out as a reply to the card. Meanwhile it is the only
    way to answer there: no other button can lose what is typed. */
const reason = (acts, opener, ask, button, send) => {
  const others = [...acts.children, ...acts.closest(".gate").querySelectorAll(":scope > .choices")];
  const show = (open) => {
    for (const node of others) node.hidden = open;
    opener.setAttribute("aria-expanded", String(open));
  };
  const close = () => {
    form.remove();
    show(false);
    opener.focus();
  };
  const id = `reason-${++forms}`;
  const field = el("textarea", { class: "input", id, rows: 2, maxlength: 4000 });
  const form = el("form", { class: "reason all", "data-of": opener.dataset.words }, el("label", { class: "field", for: id }, ask, field),
    el("button", { type: "button", class: "btn", on: { click: close } }, "Cancel"), el("button", { class: "btn" }, said(button)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(field.value.trim(), form, event);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key === "Escape") close();
  });
  show(true);
  acts.append(form);
  field.focus();
};

/** What was half typed in a card stands in its newer state too; returns the field that was typed in. */
export const keepTyped = (old, node) => {
  const code = old.querySelector?.(".confirm input"), words = old.querySelector?.(".reason textarea");
  const field = node.querySelector?.(".confirm input");
  if (code?.value && field) {
    field.value = code.value;
    field.dispatchEvent(new Event("input"));
  }
  if (!words) return code && code === document.activeElement ? field : null;
  const held = document.activeElement;
  node.querySelector(`[data-words="${old.querySelector(".reason").dataset.of}"]`)?.click();
  const again = node.querySelector(".reason textarea");
  if (again) again.value = words.value;
  return words === held ? again : null;
};

/** Like a tap, a written decision is about what is seen now: it is not kept for later. */
const answer = async (message, text, form) => {
  const say = line(form.closest(".gate"));
  const buttons = [...form.closest(".gate").querySelectorAll("button")];
  for (const button of buttons) button.disabled = true;
  say("Sending…");
  try {
    const { notice } = await post("send", { client: newId(), thread: message.thread, text, reply_to: message.id });
    say(notice ?? "Sent.");
    form.reset();
  } catch (failed) {
    say(failed.status === 0 ? "Not sent: no connection. Try again once it is live." : `Not sent: ${failed.message}.`, true);
  }
  for (const button of buttons) button.disabled = false;
};
