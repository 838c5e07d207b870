// What is live of the page is told by the server, which alone makes markup: the script puts it in place,
// with as little change as it takes, so that whoever has the focus there keeps it.
"use strict";
(() => {
  const live = document.getElementById("live");
  const told = document.getElementById("told");
  const still = live.hasAttribute("data-still"); // a form, or what it has come to
  const hiddenFor = 10000; // until a page that nobody sees is told nothing more
  let source, leaving, first = true;

  const tell = (state, text) => {
    told.dataset.state = state;
    told.textContent = text;
  };

  // Two elements are the same one if they have the same id, or stand in the same place without one.
  const sameNode = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

  const morph = (from, to) => {
    if (from.nodeType !== Node.ELEMENT_NODE) {
      if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      return;
    }
    for (const { name } of [...from.attributes])
      if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS")) from.removeAttribute(name);
    for (const { name, value } of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    children(from, to);
  };

  const children = (from, to) => {
    const byId = new Map();
    for (const c of from.children) if (c.id) byId.set(c.id, c);
    let at = from.firstChild;
    for (const wanted of [...to.childNodes]) {
      let found = wanted.id ? byId.get(wanted.id) : at;
      if (found && wanted.id === undefined && found.id) found = null;
      if (found && sameNode(found, wanted)) {
        if (found !== at) from.insertBefore(found, at);
        else at = at.nextSibling;
        morph(found, wanted);
      } else {
        from.insertBefore(wanted, at);
        if (!first && wanted.nodeName === "TR") wanted.classList.add("fresh");
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };

  const put = (html) => {
    const fresh = new DOMParser().parseFromString(`<main>${html}</main>`, "text/html").querySelector("main");
    children(live, fresh);
    first = false;
    tick();
  };

  const address = () => location.pathname + location.search;

  const connect = () => {
    if (source) source.close();
    source = new EventSource("/events?" + new URLSearchParams({ at: address() }));
    source.onopen = () => tell("live", "live");
    source.onerror = () => {
      tell("off", "no answer, trying again");
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    };
    source.onmessage = (e) => put(JSON.parse(e.data).live);
  };

  const leave = () => {
    if (source) source.close();
    source = null;
    tell("paused", "paused: nobody looks");
  };

  // Ages run on by themselves.
  const age = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000)), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return `${s}s`;
    if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
    if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`;
    return `${Math.floor(s / 86400)}d${two(Math.floor((s % 86400) / 3600))}h`;
  };
  const tick = () => {
    for (const e of live.querySelectorAll("[data-since]")) {
      const text = age(Date.now() - Number(e.dataset.since));
      if (e.textContent !== text) e.textContent = text;
    }
  };

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      const area = document.createElement("textarea");
      area.value = button.dataset.copy;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1200);
  };

  const step = (by) => {
    const all = [...live.querySelectorAll("a.go")];
    const next = all[all.indexOf(document.activeElement) + by] || all[by > 0 ? 0 : all.length - 1];
    if (next) next.focus();
  };

  document.addEventListener("click", (e) => {
    const button = e.target.closest("button.copy");
    if (button) copy(button);
  });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.nodeName)) return;
    const go = { "/": () => document.getElementById("q")?.focus(), j: () => step(1), k: () => step(-1), u: () => document.getElementById("up")?.click() }[e.key];
    if (go) {
      e.preventDefault();
      go();
    }
  });

  const filter = document.getElementById("filter");
  if (filter) {
    let soon;
    const apply = () => {
      const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
      history.replaceState(null, "", query.size ? "?" + query : location.pathname);
      connect();
    };
    filter.addEventListener("input", () => {
      clearTimeout(soon);
      soon = setTimeout(apply, 150);
    });
    filter.addEventListener("submit", (e) => {
      e.preventDefault();
      apply();
    });
  }

  setInterval(tick, 1000);
  if (still) return tell("paused", "not live");
  document.addEventListener("visibilitychange", () => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(leave, hiddenFor);
    else if (!source) connect();
  });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (e) => e.persisted && connect());
  connect();
})();
