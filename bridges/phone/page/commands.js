// What a person would write as a slash command, behind buttons. It goes out as that text: there is
// no other way in. A command is about now, so it is not kept for later like a message.
import { el, icon, said } from "./dom.js";
import { newId, post } from "./model.js";

/** Sends a command where it belongs; returns why it was not sent, or `null`. */
export const command = async (thread, text) => {
  try {
    await post("send", { client: newId(), thread, text, reply_to: null });
    return null;
  } catch (failed) {
    return failed.status === 0 ? "Not sent: no connection. Try again once it is live." : `Not sent: ${failed.message}.`;
  }
};

/** A sheet from below on a phone, in the middle at a desk; what was under it waits. */
const sheet = (title, ...content) => {
  const box = el("dialog", { class: "sheet", "aria-label": title }, el("h2", {}, said(title)), ...content);
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", ({ target }) => { if (target === box) box.close(); }); // beside it
  document.body.append(box);
  box.showModal();
  return box;
};

/** `run(text)` sends a command into the session's thread. */
export const sessionMenu = (thread, run) => {
  const over = ["ended", "lost"].includes(thread.state);
  const item = (mark, label, about, action) =>
    el("button", { type: "button", class: "item", on: { click: action } }, icon(mark, ""), el("span", {}, el("b", {}, label), el("small", {}, about)));
  const send = (text) => () => {
    box.close();
    run(text);
  };
  const sure = () => {
    const keep = el("button", { type: "button", class: "btn", on: { click: () => box.close() } }, "Keep it");
    const end = el("button", { type: "button", class: "btn risk", on: { click: send("/end") } }, `End ${thread.session}`);
    box.replaceChildren(el("h2", {}, "End ", said(thread.session), "?"),
      el("p", { class: "dim" }, "Its agent is closed, what it does now is left as it is. Its conversation can be resumed later."),
      el("div", { class: "pair" }, keep, end));
    keep.focus();
  };
  const box = sheet(thread.session, ...(over
    ? [item("i-reply", "Resume", "Go on with its conversation", send("/resume"))]
    : [item("i-stop", "Stop", "Interrupt what it does now; it stays here", send("/stop")),
      item("i-screen", "Screen", "Show what its terminal shows", send("/screen")),
      item("i-cross", "End…", "Close its agent", sure)]),
  el("button", { type: "button", class: "btn quiet", on: { click: () => box.close() } }, "Close"));
};

// As the core reads a name; it says so itself about one that does not fit.
const NAME = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,39}";

/** Asks for what `/new` needs; `started()` runs once it was sent. */
export const newSession = (started) => {
  const field = (label, hint, input) => el("label", { class: "field" }, label, hint ? el("small", { class: "dim" }, hint) : null, input);
  const line = (name, more) => el("input", { class: "input", name, autocomplete: "off", autocapitalize: "off", spellcheck: "false", ...more });
  const name = line("name", { required: true, maxlength: 40, pattern: NAME, placeholder: "PD-285", title: "letters, digits, - _ and ., beginning with a letter or digit" });
  const words = el("textarea", { class: "input", name: "words", rows: 3, dir: "auto" });
  const project = line("project", { pattern: "\\S+", title: "one word" });
  const agent = line("agent", { pattern: "\\S+", title: "one word" });
  const says = el("p", { class: "error", role: "alert", hidden: true });
  const go = el("button", { class: "btn go" }, "Start");
  const form = el("form", {},
    field("Name", "A story key, or one word", name),
    field("What it is about", "The first words it reads. It may stay empty.", words),
    el("div", { class: "pair" }, field("Project", "Empty: the first", project), field("Agent", "Empty: the project’s own", agent)),
    says,
    el("div", { class: "pair" }, el("button", { type: "button", class: "btn", on: { click: () => box.close() } }, "Cancel"), go));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const part = (word, { value }) => (value.trim() ? ` ${word} ${value.trim()}` : "");
    go.disabled = true;
    const text = `/new ${name.value.trim()}${part("in", project)}${part("with", agent)} ${words.value.trim()}`.trimEnd();
    const failed = await command(null, text);
    go.disabled = false;
    says.textContent = failed ?? "";
    says.hidden = !failed;
    if (failed) return;
    box.close();
    started();
  });
  const box = sheet("New session", form);
};
