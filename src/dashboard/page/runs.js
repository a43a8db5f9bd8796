// Pages of runs and workflows: logs that grow, an editor that says what is wrong, a form that starts a
// run. Comes after desk.js and uses what that has.
"use strict";

// Names of its own: other scripts of the page may have the same.
{
// Logs: a stream each, as long as its place stands on the page.
const MOST_LOG = 500_000; // letters that stay in the page
const ASK_AGAIN = 3_000; // ms
const streams = new Map();
const trim = (pre) => {
  let length = pre.textContent.length;
  while (length > MOST_LOG && pre.childNodes.length > 1) {
    length -= pre.firstChild.textContent.length;
    pre.firstChild.remove();
    pre.dataset.cut = "";
  }
};
const readLog = (pre) => {
  const state = document.querySelector(`[data-log-state="${CSS.escape(pre.id)}"]`);
  const tellLog = (words) => { if (state) state.textContent = words; };
  let at = null; // how far it was told
  const unfinished = document.createElement("span"); // a line that may still be written over
  const begin = ({ data }) => {
    // A line that broke begins again where it was.
    if (!pre.textContent && JSON.parse(data).from > 0) pre.dataset.cut = "";
  };
  const more = ({ data, lastEventId }) => {
    at = lastEventId;
    const { text, line, over } = JSON.parse(data);
    const follows = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 24;
    unfinished.remove();
    if (text) pre.append(text);
    trim(pre);
    if (line) {
      unfinished.textContent = line;
      pre.append(unfinished);
    }
    if (follows) pre.scrollTop = pre.scrollHeight;
    const cut = pre.dataset.cut == null ? "" : " The beginning is not shown.";
    const lines = pre.textContent ? "" : "It printed nothing. ";
    tellLog(over ? `${lines}This is all of it.${cut}` : `It goes on.${cut}`);
    if (over) streams.get(pre)?.close();
  };
  const where = (waits) => `${pre.dataset.log}${at === null ? "" : `&from=${at}`}${waits ? "" : "&wait=false"}`;
  const listen = () => {
    const stream = follow(where, { begin, more, beat: () => {} }, () => {
      tellLog("Vigie does not tell it. Asking again.");
      setTimeout(() => { if (streams.get(pre) === stream && pre.isConnected) listen(); }, ASK_AGAIN);
    });
    streams.set(pre, stream);
  };
  listen();
};
const readLogs = () => {
  for (const [pre, stream] of streams) {
    if (!pre.isConnected) { stream.close(); streams.delete(pre); }
  }
  for (const pre of document.querySelectorAll("pre[data-log]")) if (!streams.has(pre)) readLog(pre);
};
document.addEventListener("asleep", () => {
  for (const stream of streams.values()) stream.close();
});
// It is told once more from where the page began.
document.addEventListener("awake", () => {
  for (const pre of streams.keys()) {
    pre.replaceChildren();
    delete pre.dataset.cut;
  }
  streams.clear();
  readLogs();
});

// The editor.
const CHECK_AFTER = 400; // ms of no typing
const sheet = () => document.querySelector("form[data-sheet]");
const number = (form) => {
  const text = form.elements.text, numbers = form.querySelector(".numbers");
  const wrong = new Set([...form.querySelectorAll(".problems a")].map((link) => Number(link.dataset.line)));
  const rows = text.value.split("\n").map((_, at) => {
    if (!wrong.has(at + 1)) return `${at + 1}\n`;
    const mark = document.createElement("b");
    mark.textContent = String(at + 1);
    return [mark, "\n"];
  });
  numbers.replaceChildren(...rows.flat());
  numbers.scrollTop = text.scrollTop;
};
const problemLine = ({ severity, line, column, width, what, hint }) => {
  const item = document.createElement("li");
  if (line > 0) {
    const link = document.createElement("a");
    Object.assign(link, { href: "#sheet-text", className: severity === "error" ? "bad" : "dim", textContent: `line ${line}, ${column}` });
    Object.assign(link.dataset, { line, column, width });
    item.append(link, ": ");
  }
  item.append(`${what}.`);
  if (hint) {
    const more = document.createElement("span");
    Object.assign(more, { className: "dim", textContent: ` ${hint}` });
    item.append(more);
  }
  return item;
};
const counted = (count, one, more) => `${count} ${count === 1 ? one : more}`;
const judge = (form, { runs, problems }) => {
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const warnings = problems.length - errors;
  const warned = warnings ? `, ${counted(warnings, "warning", "warnings")}` : "";
  form.querySelector(".verdict").textContent = runs
    ? `It runs${warned}.`
    : `It does not run: ${counted(errors, "mistake", "mistakes")}${warned}.`;
  form.querySelector(".problems").replaceChildren(...problems.map(problemLine));
  number(form);
};
let checks = 0, checkLater = null;
const check = async (form) => {
  const mine = ++checks;
  try {
    const told = await request("/workflows/check", { text: form.elements.text.value });
    if (mine === checks) judge(form, told); // an older answer says nothing any more
  } catch (failed) {
    if (mine === checks) form.querySelector(".verdict").textContent = failed.message;
  }
};
const isDirty = (form) => form.elements.text.value !== (form.saved ?? form.elements.text.defaultValue);
document.addEventListener("input", ({ target }) => {
  const form = target.closest?.("form[data-sheet]");
  if (!form) return;
  number(form);
  clearTimeout(checkLater);
  checkLater = setTimeout(() => check(form), CHECK_AFTER);
});
document.addEventListener("scroll", ({ target }) => {
  if (target.id === "sheet-text") target.form.querySelector(".numbers").scrollTop = target.scrollTop;
}, true);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-line]");
  const text = link?.closest("form")?.elements.text;
  if (!text) return;
  event.preventDefault();
  const lines = text.value.split("\n");
  const line = Math.min(Number(link.dataset.line), lines.length) - 1;
  const before = lines.slice(0, line).reduce((sum, it) => sum + it.length + 1, 0);
  // Columns count letters; a browser counts the halves of some of them.
  const letters = [...lines[line]], column = Number(link.dataset.column) - 1;
  const from = before + letters.slice(0, column).join("").length;
  const to = from + letters.slice(column, column + Number(link.dataset.width)).join("").length;
  text.focus();
  text.setSelectionRange(from, to);
  const height = text.scrollHeight / Math.max(lines.length, 1);
  text.scrollTop = Math.max(0, (line - 3) * height);
});
addEventListener("beforeunload", (event) => { if (sheet() && isDirty(sheet())) event.preventDefault(); });

// The file may change while somebody looks at it.
const fileChanged = () => {
  const form = sheet(), now = byId("keep")?.dataset.now;
  if (!form || !now || now === form.dataset.digest) return;
  if (!isDirty(form)) location.reload();
  else form.querySelector(".verdict").textContent = "The file changed meanwhile. Copy what you wrote, and open the page again.";
};
const keep = async (form) => {
  const text = form.elements.text.value, { sheet: name, digest } = form.dataset;
  const path = `/workflows/${name.split("/").map(encodeURIComponent).join("/")}`;
  const told = await attempt(form, () => request(path, { text, digest }, "PUT"));
  if (!told) return;
  form.dataset.digest = told.digest;
  form.saved = text;
  judge(form, told);
  if (told.name !== name) location.assign(`/workflows/${told.name}`);
};

// The form that starts a run: each mistake beside its field.
const startRun = async (form) => {
  const typed = {};
  for (const { name, value, dataset } of form.elements) {
    if (!name || dataset.project != null) continue;
    if (value !== "" || dataset.empty != null) typed[name] = value;
  }
  const places = [...form.querySelectorAll("[data-wrong]")];
  for (const place of places) place.hidden = true;
  const body = { workflow: form.dataset.run, typed, project: form.querySelector("[data-project]")?.value || null };
  const begun = await attempt(form, async () => {
    try {
      return await request("/runs", body);
    } catch (failed) {
      const rest = (failed.told?.mistakes ?? []).filter((mistake) => {
        const place = places.find(({ dataset }) => mistake.startsWith(`\`${dataset.wrong}\``));
        if (place) Object.assign(place, { hidden: false, textContent: mistake });
        return !place;
      });
      const first = places.find((place) => !place.hidden);
      first?.parentElement.querySelector("input, select, textarea")?.focus();
      throw first ? new Error(rest.join(". ") || "It does not start so.") : failed;
    }
  });
  if (begun) location.assign(`/runs/${encodeURIComponent(begun.name)}`);
};
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sheet == null && form.dataset.run == null) return;
  event.preventDefault();
  if (form.dataset.sheet != null) keep(form);
  else startRun(form);
});

main.addEventListener("fresh", () => { readLogs(); fileChanged(); });
readLogs();
}
