// A browser keeps six connections to one place, over all its tabs and windows. So all pages of Vigie
// together are told on and on over a few of them, and an answer always finds one; a page without a seat
// asks now and then.
"use strict";
globalThis.seats = (() => {
  const SEATS = 4;
  return {
    /** Between two looks of who has none, in ms. */
    aside: 2_000,
    /** Gives a seat back when called; `null` when all are taken. */
    take: async () => {
      // Without locks (plain http over a network) the window in front has one.
      if (!navigator.locks) return document.hasFocus() ? () => {} : null;
      for (let at = 0; at < SEATS; at++) {
        const free = await new Promise((taken) => {
          navigator.locks.request(`vigie-seat-${at}`, { ifAvailable: true },
            (lock) => (lock ? new Promise((give) => { taken(give); }) : taken(null))).catch(() => taken(null));
        });
        if (free) return free;
      }
      return null;
    },
  };
})();
