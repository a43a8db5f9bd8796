// Where one writes: a draft for each chat, targets in the main chat, replies and edits.
import { el, icon, said, shape } from "./dom.js";
import { MAIN, model, newId, post, threadOf } from "./model.js";
import { send } from "./outbox.js";
import { summary } from "./message.js";

// Under a thumb Enter is a new line; the button sends.
const thumb = matchMedia("(pointer: coarse)");
const draftName = (key) => `vigie.draft.${model.person.id}.${key}`;
const keepDraft = (key, draft) => {
  try {
    if (draft.text || draft.to || draft.reply) localStorage.setItem(draftName(key), JSON.stringify(draft));
    else localStorage.removeItem(draftName(key));
  } catch { /* without storage a draft lives as long as the page */ }
};
const readDraft = (key) => {
  try {
    return JSON.parse(localStorage.getItem(draftName(key)));
  } catch {
    return null;
  }
};

const live = () => [...model.threads.values()].filter((thread) => thread.session && !["ended", "lost"].includes(thread.state));

/** `sent()` runs after something was written. */
export const composer = (key, sent) => {
  const draft = { text: "", to: null, reply: null, ...readDraft(key) };
  let edits = null; // the message that is edited
  const suggest = el("div", { class: "suggest", role: "group", "aria-label": "Send to" });
  const about = el("p", { class: "about", hidden: true });
  const says = el("p", { class: "said bad", role: "alert", hidden: true });
  const list = el("ul", { class: "listbox panel", role: "listbox", id: "matches", "aria-label": "Sessions that match", hidden: true });
  const prefix = el("button", { type: "button", class: "prefix", hidden: true });
  const area = el("textarea", { rows: 1, id: "write", placeholder: "Message", dir: "auto", enterkeyhint: thumb.matches ? "enter" : "send" });
  const go = el("button", { class: "btn go" }, icon("i-send", ""));
  const bar = el("p", { class: "conn-bar", "data-conn-bar": true, hidden: true, role: "status" });
  const form = el("form", { class: "composer", "aria-label": "Write a message" }, bar, says, about, list, suggest,
    el("div", { class: "write" }, el("div", { class: "box" }, prefix, area), go));

  const grow = () => {
    // Where `field-sizing` does it, this changes nothing.
    area.rows = Math.min(8, area.value.split("\n").length);
  };
  const complain = (text) => {
    says.textContent = text ?? "";
    says.hidden = !text;
  };
  const keep = () => {
    if (edits) return;
    draft.text = area.value;
    keepDraft(key, draft);
  };
  const show = () => {
    const target = key === MAIN ? draft.to : model.threads.get(key)?.session;
    prefix.hidden = key !== MAIN || !draft.to || Boolean(edits) || Boolean(draft.reply);
    if (draft.to) {
      prefix.replaceChildren(said(draft.to), " ", icon("i-cross"));
      prefix.setAttribute("aria-label", `To ${draft.to}. Remove`);
    }
    area.setAttribute("aria-label", edits ? "Edit your message" : target ? `Message to ${target}` : "Message");
    go.setAttribute("aria-label", edits ? "Save the edit" : target ? `Send to ${target}` : "Send");
    about.hidden = !edits && !draft.reply;
    if (!about.hidden) {
      const cancel = el("button", { type: "button", class: "btn quiet icon", "aria-label": edits ? "Cancel the edit" : "Cancel the reply", on: { click: stop } }, icon("i-cross"));
      const words = edits ? ["Edits your message"] : ["Answers ", el("b", {}, said(draft.reply.who)), " ", said(draft.reply.excerpt)];
      about.replaceChildren(icon(edits ? "i-edit" : "i-reply"), el("span", {}, ...words), cancel);
    }
    targets();
    grow();
  };
  const targets = () => {
    suggest.hidden = key !== MAIN || Boolean(edits) || Boolean(draft.reply) || live().length === 0;
    if (suggest.hidden) return;
    const names = [...new Set(live().map((thread) => thread.session)), "all"];
    // Only what changed, so that a chip under the finger stays.
    const there = [...suggest.children].map((chip) => chip.dataset.to);
    if (String(there) !== String(names)) {
      suggest.replaceChildren(...names.map((name) => el("button", { type: "button", class: "chip", "data-to": name, on: { click: () => aim(draft.to === name ? null : name) } }, said(name))));
    }
    for (const chip of suggest.children) chip.setAttribute("aria-pressed", String(chip.dataset.to === draft.to));
  };
  const aim = (name) => {
    draft.to = name;
    keep();
    show();
    area.focus();
  };
  function stop() {
    if (edits) area.value = draft.text;
    edits = null;
    draft.reply = null;
    complain(null);
    keep();
    show();
    area.focus();
  }

  // A key typed in brackets offers the sessions that begin so.
  let chosen = 0;
  const match = () => {
    const typed = key === MAIN && !edits ? /^[[［]([\w.-]*)$/.exec(area.value) : null;
    const found = typed ? live().filter((thread) => thread.session.toLowerCase().startsWith(typed[1].toLowerCase())).slice(0, 6) : [];
    list.hidden = found.length === 0;
    area.setAttribute("aria-expanded", String(!list.hidden));
    chosen = Math.min(chosen, Math.max(0, found.length - 1));
    list.replaceChildren(...found.map((thread, index) => el("li", { role: "option", id: `match-${index}`, "aria-selected": String(index === chosen), on: { click: () => pick(thread.session) } },
      el("b", { class: "key" }, said(thread.session)), el("span", {}, said(thread.title)), stateOf(thread))));
    if (found.length) area.setAttribute("aria-activedescendant", `match-${chosen}`);
    else area.removeAttribute("aria-activedescendant");
    return found;
  };
  const pick = (name) => {
    area.value = "";
    chosen = 0;
    aim(name);
    match();
  };

  const submit = async () => {
    const text = area.value.trimEnd().replace(/^(\s*\n)+/, ""); // an indented first line stays as it is
    complain(null);
    if (!text) return;
    const whole = key === MAIN && draft.to && !draft.reply && !edits ? `[${draft.to}] ${text}` : text;
    if (whole.length > model.limit) {
      complain(`This text has ${whole.length} characters and one message holds ${model.limit}. Send it in parts.`);
      return;
    }
    if (edits) {
      const { id } = edits;
      go.disabled = true;
      try {
        await post("edit", { client: newId(), message: id, text });
        area.value = draft.text;
        edits = null;
      } catch (failed) {
        complain(`The edit was not sent: ${failed.message}.`);
      }
      go.disabled = false;
    } else {
      send(threadOf(key), whole, draft.reply?.id ?? null);
      area.value = "";
      draft.reply = null;
      keep();
      sent();
    }
    show();
    area.focus();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  prefix.addEventListener("click", () => aim(null));
  area.addEventListener("input", () => { keep(); grow(); match(); complain(null); });
  area.addEventListener("keydown", (event) => {
    const found = list.hidden ? [] : match();
    if (found.length && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      match();
    } else if (found.length && ["Enter", "Tab"].includes(event.key)) pick(found[chosen].session);
    else if (event.key === "Escape" && !list.hidden) list.hidden = true;
    else if (event.key === "Escape" && (edits || draft.reply)) stop();
    else if (event.key === "Backspace" && !prefix.hidden && area.selectionEnd === 0) aim(null);
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && (!thumb.matches || event.ctrlKey || event.metaKey)) submit();
    else return;
    event.preventDefault();
  });

  area.setAttribute("aria-controls", "matches");
  area.setAttribute("aria-autocomplete", "list");
  area.value = draft.text;
  show();
  return {
    node: form,
    refresh: targets,
    complain,
    focus: () => area.focus(),
    put: (text) => { area.value = text; keep(); show(); area.focus(); },
    reply: (message) => {
      edits = null;
      const who = message.what.kind === "text" ? (message.what.mine ? "you" : message.what.name) : (message.what.from ?? "Vigie");
      draft.reply = { id: message.id, who, excerpt: summary(message).replace(`${who}: `, "").replace(/\s+/g, " ").slice(0, 90) };
      keep();
      show();
      area.focus();
    },
    edit: (message) => {
      keep();
      edits = message;
      area.value = message.what.text;
      show();
      area.focus();
    },
  };
};

const WORDS = {
  starting: "starting", idle: "idle", working: "working", waiting: "waits for you", needs_desk: "needs you at the desk",
  limited: "at its limit", ended: "ended", lost: "lost",
};
const JOINS = { waiting: ": ", limited: ": " };

/** A session's state: shape, word, and a few words more. `...more` stands at the end. */
export const stateOf = (thread, ...more) => {
  const look = thread.state === "needs_desk" ? "desk" : thread.state;
  const joins = thread.detail?.startsWith("until ") ? " " : JOINS[thread.state];
  const detail = thread.detail ? (joins ?? ", ") : null;
  return el("span", { class: `state ${look}` }, shape(`s-${look}`), el("span", {}, WORDS[thread.state], detail, detail ? said(thread.detail) : null, ...more));
};
