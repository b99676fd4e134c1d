/* Filters and search over the table. The filters read its own cells; the index of the search is loaded when it is asked. */
const table = document.getElementById("claims");
const body = table.tBodies[0];
const rows = [...body.rows];
const form = document.getElementById("filters");
const fields = Object.fromEntries([...form.elements].filter((field) => field.name).map((field) => [field.name, field]));
const search = fields.search;
const names = Object.keys(fields).slice(1); // in the order of the columns
const facts = rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row.cells[place + 1].textContent.trim()])));
const found = document.getElementById("found");
const NEAREST = 20;
const placeOf = new Map(rows.map((row, place) => [row.cells[0].firstElementChild.getAttribute("href"), place]));
let asked = false, index = null, sifted = false;

for (const name of names) {
  const counts = new Map();
  for (const fact of facts) counts.set(fact[name], (counts.get(fact[name]) || 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  for (const [word, number] of order) if (word) fields[name].append(new Option(`${word} (${number})`, word));
}
form.querySelector("button").addEventListener("click", () => { form.reset(); show(); search.focus(); });

function load() {
  asked = true;
  const element = document.createElement("script");
  element.src = "search.js";
  element.onload = () => { index = window.lemmata.search; show(false); drawn(); };
  element.onerror = () => { found.textContent = "The search index could not be loaded."; drawn(); };
  document.head.append(element);
}

/* The rows that the words find, the best first, and what is to be said of them; all rows without words. */
function searched() {
  const typed = search.value.trim();
  if (!typed) return [rows.map((_, place) => place), ""];
  if (!asked) load();
  if (!index) return [[], "The index is loading …"];
  const { hits, near, told, mistyped } = index.ask("claims", typed);
  const places = (found) => found.map((hit) => placeOf.get(index.item(hit)[1]));
  if (hits.length) return [places(hits), mistyped.length ? `No claim has '${mistyped.join("' or '")}'; these have the nearest spelling.` : ""];
  return near.length ? [places(near.slice(0, NEAREST)), `No claim has all words; ${told}. These are the nearest.`] : [[], ""];
}

function show(write = true) {
  sifted ||= Object.values(fields).some((field) => field.value);
  if (!sifted) return; // the table is as it was written
  const [places, said] = searched();
  const shown = places.filter((place) => names.every((name) => !fields[name].value || facts[place][name] === fields[name].value));
  for (const row of rows) row.hidden = true;
  for (const place of shown) rows[place].hidden = false;
  body.append(...places.map((place) => rows[place]));
  found.textContent = `${shown.length} of ${rows.length} claims. ${said}`.trim();
  const chosen = new URLSearchParams();
  for (const name in fields) if (fields[name].value) chosen.set(name, fields[name].value);
  if (write) history.replaceState(null, "", "#" + chosen);
}

/* The table is drawn once it shows what its address asks for, so that nothing moves. */
function drawn() {
  document.documentElement.classList.remove("sifting");
}

function read() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  for (const name in fields) fields[name].value = chosen.get(name) || "";
  show(false);
  if (!asked || index) drawn();
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => show());
addEventListener("hashchange", read);
read();
