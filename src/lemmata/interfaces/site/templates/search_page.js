/* The page of the search. The index comes as a script, which a page that was opened from disk may load, too. */
const form = document.getElementById("searching"), input = document.getElementById("q");
const told = document.getElementById("told"), results = document.getElementById("results");
const MOST = 50;
let search = null;

function load() {
  told.textContent = "The index is loading …";
  const element = document.createElement("script");
  element.src = "search.js";
  element.onload = () => { search = window.lemmata.search; show(); };
  element.onerror = () => { told.textContent = "The index could not be loaded."; };
  document.head.append(element);
}

function entry(hit) {
  const [title, address, about] = search.item(hit);
  const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("span");
  link.href = address;
  link.textContent = title;
  words.className = "soft";
  words.textContent = about;
  item.append(link, " ", words);
  return item;
}

function show() {
  const typed = input.value.trim(), of = form.elements.of.value;
  const address = new URL(location.href);
  address.search = typed ? "?" + new URLSearchParams(of ? { q: typed, of } : { q: typed }) : "";
  history.replaceState(null, "", address);
  results.replaceChildren();
  told.textContent = "";
  if (!typed) return;
  if (!search) return;
  const all = of ? search.ask(of, typed) : search.askAll(typed);
  const hits = all.hits.length ? all.hits : all.near.slice(0, 10);
  const counted = (number) => `${number} ${number === 1 ? "result" : "results"}`;
  const claims = of ? all : all.of.claims;
  if (all.hits.length) told.textContent = counted(all.hits.length) + (hits.length > MOST ? `, the best ${MOST} of them` : "");
  else if (hits.length) told.textContent = `No result has all words. Of the ${of || "claims"}, ${claims.told}. The nearest results are:`;
  else told.textContent = "Nothing was found. Try fewer or other words.";
  results.append(...hits.slice(0, MOST).map(entry));
}

const asked = new URLSearchParams(location.search);
input.value = asked.get("q") || "";
form.elements.of.value = asked.get("of") || "";
form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", show);
if (!input.value) input.focus();
load();
