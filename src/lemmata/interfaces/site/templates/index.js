/* Filters and search over the table, from its own cells and the index of words. The address keeps what was chosen. */
const PLACES = [...Array(94)].map((_, i) => String.fromCharCode(33 + i)).filter((c) => c !== "<" && !/[a-z]/.test(c)).join("");
const LAST = 52;
const table = document.getElementById("claims");
const rows = [...table.tBodies[0].rows];
const index = words(document.getElementById("words").textContent);
const names = ["subject", "tool", "architecture", "object", "kind", "label", "verdict", "tightness", "source"];
const work = (text) => (text.match(/^.*?\(\d{4}[a-z]?\)/) || [text])[0];
const facts = rows.map((row) => {
  const cells = [...row.cells].map((cell) => cell.textContent.trim());
  const own = Object.fromEntries(names.map((name, place) => [name, cells[place + 1]]));
  own.source = work(own.source);
  own.text = cells.join(" ").toLowerCase();
  return own;
});
const form = document.getElementById("filters");
const found = document.getElementById("found");
const fields = {};

function field(name, input) {
  const label = document.createElement("label");
  label.append(name[0].toUpperCase() + name.slice(1), input);
  input.name = name;
  fields[name] = input;
  form.append(label);
}

const search = document.createElement("input");
search.type = "search";
search.autocomplete = "off";
search.placeholder = "words of a statement, a title, a source";
field("search", search);
for (const name of names) {
  const counts = new Map();
  for (const fact of facts) counts.set(fact[name], (counts.get(fact[name]) || 0) + 1);
  const select = document.createElement("select");
  select.append(new Option("any", ""));
  if (name === "architecture") select.options[0].textContent = "every";
  const order = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  for (const [word, number] of order) if (word) select.append(new Option(`${word} (${number})`, word));
  field(name, select);
}
const clear = document.createElement("button");
clear.type = "button";
clear.textContent = "Show all";
clear.addEventListener("click", () => { form.reset(); show(); search.focus(); });
form.append(clear);

/* The index: what a word shares with the one before it, the rest of it, and its rows by their distances. */
function words(text) {
  const found = new Map();
  let word = "";
  for (const [, shared, rest, numbers] of text.matchAll(/([a-z])([^!-`{-~]*)([!-`{-~]+)/g)) {
    word = word.slice(0, shared.charCodeAt(0) - 97) + rest;
    const places = [];
    let row = -1, more = 0;
    for (const digit of numbers) {
      const value = PLACES.indexOf(digit);
      if (value >= LAST) more = more * (PLACES.length - LAST) + value - LAST + 1;
      else {
        row += more * LAST + value + 1;
        more = 0;
        places.push(row);
      }
    }
    found.set(word, places);
  }
  return found;
}

/* The rows in which a word, or one that begins with it, stands: of the table's text and of the index. */
function meant(word) {
  const hits = new Set();
  facts.forEach((fact, place) => { if (fact.text.includes(word)) hits.add(place); });
  for (const [known, places] of index) if (known.startsWith(word)) for (const place of places) hits.add(place);
  return hits;
}

function show(write = true) {
  const sets = search.value.toLowerCase().split(/\s+/).filter(Boolean).map(meant);
  let shown = 0;
  rows.forEach((row, place) => {
    const fits = names.every((name) => !fields[name].value || facts[place][name] === fields[name].value);
    row.hidden = !(fits && sets.every((set) => set.has(place)));
    shown += !row.hidden;
  });
  found.textContent = `${shown} of ${rows.length} claims`;
  const chosen = new URLSearchParams();
  for (const name in fields) if (fields[name].value) chosen.set(name, fields[name].value);
  if (write) history.replaceState(null, "", "#" + chosen);
}

function read() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  for (const name in fields) fields[name].value = chosen.get(name) || "";
  show(false);
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => show());
addEventListener("hashchange", read);
read();
