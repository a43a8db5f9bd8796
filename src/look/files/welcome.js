// The first page after signing in: keeps the pass of this login where pages of other ports cannot read it.
// Every change that a page asks for shows it; the cookie alone only reads.
"use strict";

try {
  localStorage.setItem("vigie.pass", document.documentElement.dataset.pass);
  location.replace("/");
} catch {
  document.getElementById("says").textContent = "This browser keeps nothing for pages. They can be read here, and nothing can be changed.";
}
