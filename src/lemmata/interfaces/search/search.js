/* The search of the site: what `_terms.py`, `_shelf.py` and `_ask.py` do, over the index that they have written. */
function lemmataSearch(facts, shelves) {
  const LEVELS = 15, BEGUN = 0.7, MISTYPED = 0.5, LITERAL = 0.5, FURTHER = 0.85, SHELVES = { reference: 0.5 };
  const stops = new Set(facts.stop.split(/\s+/));
  const spellings = [
    [/^parameteri/, "parametri"], [/^overparameteri/, "overparametri"],
    [/is(e|ed|es|er|ers|ing|ation|ations)$/, "iz$1"], [/ys(e|ed|es|ing)$/, "yz$1"],
    [/(.{3})our(s|ed|ing|hood)?$/, "$1or$2"], [/(.{3})tre(s?)$/, "$1ter$2"],
  ];
  const endings = [
    [/(sse|che|she|xe|zze)s$/, "$1"], [/(.{2})ies$/, "$1y"], [/([^suia])s$/, "$1"], [/(.{4})ness$/, "$1"], [/(.{4})ly$/, "$1"],
    [/^(?:(.*[aeiouy].*[^e])ing|(.{2,}[^e])ed)$/, null], [/(.{3}[st])ion$/, "$1"], [/(.{2}at)or$/, "$1"], [/(.{3}t)ive$/, "$1"],
    [/iz(at|er)$/, "iz"], [/(.{3})e$/, "$1"], [/(.{3})y$/, "$1i"],
  ];

  function stem(word) {
    if (Object.hasOwn(facts.same, word)) word = facts.same[word];
    for (const [pattern, spelling] of spellings) word = word.replace(pattern, spelling);
    for (const [pattern, ending] of endings) {
      if (ending !== null) { word = word.replace(pattern, ending); continue; }
      const match = pattern.exec(word);
      if (!match) continue;
      word = match[1] || match[2];
      const last = word.at(-1);
      if (word.length > 3 && last === word.at(-2) && !"sz".includes(last)) word = word.slice(0, -1);
    }
    return word;
  }

  function plain(text) {
    const small = text.replaceAll("’", "'").normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
    const named = small.replace(/(?<![\p{L}\p{N}_])(mu|μ)[- ]?p(?![\p{L}\p{N}_])/gu, "mup");
    const joined = named.replace(/(?<=[\p{L}\p{N}_])'s\b/gu, "").replace(/(?<![\p{L}\p{N}_])(over|under|non|pre|semi|multi|hyper|self)-(?=[a-z]{4})/gu, "$1");
    return joined.match(/[a-z0-9α-ω]+/g) || [];
  }

  const meanings = new Map(), starts = new Map();
  facts.meaning.forEach(({ phrases }, number) => {
    for (const phrase of phrases) {
      const stems = plain(phrase).map(stem), key = stems.join(" ");
      if (!meanings.has(key)) meanings.set(key, []);
      if (!meanings.get(key).includes(number)) meanings.get(key).push(number);
      starts.set(stems[0], Math.max(starts.get(stems[0]) || 0, stems.length));
    }
  });

  function phrasesOf(stems) {
    const found = [];
    for (let place = 0; place < stems.length; ) {
      let size = Math.min(starts.get(stems[place]) || 0, stems.length - place);
      while (size && !meanings.has(stems.slice(place, place + size).join(" "))) size--;
      if (size) found.push([place, place + size, meanings.get(stems.slice(place, place + size).join(" "))]);
      place += size || 1;
    }
    return found;
  }

  function placesOf(shelf, term) {
    const found = [];
    let place = 0;
    for (const part of (shelf.postings[term] || "").split(" ")) {
      if (!part) continue;
      const value = parseInt(part, 36);
      place += Math.floor(value / (LEVELS + 1));
      found.push([place, value % (LEVELS + 1)]);
    }
    return found;
  }

  function slips(one, other, most) {
    if (Math.abs(one.length - other.length) > most) return most + 1;
    let earlier, before = [], row = [...Array(other.length + 1).keys()];
    for (let i = 1; i <= one.length; i++) {
      [earlier, before, row] = [before, row, [i]];
      for (let j = 1; j <= other.length; j++) {
        let least = Math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one[i - 1] !== other[j - 1]));
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && other[j - 1] === one[i - 2]) least = Math.min(least, earlier[j - 2] + 1);
        row.push(least);
      }
      if (Math.min(...row) > most) return most + 1;
    }
    return Math.min(row.at(-1), most + 1);
  }

  function meant(shelf, term) {
    if (Object.hasOwn(shelf.postings, term)) return [[term, 1]];
    if (term.startsWith("~")) return [];
    const known = (shelf.known ??= Object.keys(shelf.postings).sort()); // an object puts whole numbers first
    const begun = term.length > 2 ? known.filter((each) => each.startsWith(term)) : [];
    if (begun.length) return begun.map((each) => [each, BEGUN]);
    const most = term.length < 4 ? 0 : term.length < 8 ? 1 : 2;
    if (!most) return [];
    const far = known.filter((each) => each[0] !== "~").map((each) => [each, slips(term, each, most)]);
    const least = far.reduce((low, [, slip]) => Math.min(low, slip), most + 1);
    return least > most ? [] : far.filter(([, slip]) => slip === least).map(([each]) => [each, MISTYPED]);
  }

  function mended(shelf, term) {
    if (starts.has(term)) return term;
    const near = meant(shelf, term);
    if (!near.length || near[0][1] !== MISTYPED) return term;
    let best = near[0][0];
    for (const [each] of near) if (placesOf(shelf, each).length > placesOf(shelf, best).length) best = each;
    return best;
  }

  function understood(shelf, typed) {
    const words = plain(typed);
    const stems = words.map((word) => (stops.has(word) ? stem(word) : mended(shelf, stem(word))));
    const found = [];
    let place = 0;
    for (const [start, end, numbers] of [...phrasesOf(stems), [stems.length, stems.length, []]]) {
      for (let i = place; i < start; i++) {
        if (!stops.has(words[i]) || words.length === 1) found.push({ typed: words[i], terms: [stems[i]], words: [] });
      }
      if (numbers.length) {
        const own = stems.slice(start, end).filter((_, i) => !stops.has(words[start + i]));
        found.push({ typed: words.slice(start, end).join(" "), terms: numbers.map((number) => `~${number}`), words: own });
      }
      place = end;
    }
    return found;
  }

  function ofTerm(shelf, option) {
    const all = Math.log(1 + shelf.items.length), found = [];
    for (const [term, factor] of meant(shelf, option)) {
      const places = placesOf(shelf, term);
      const rarity = factor * (Math.log(1 + shelf.items.length / Math.max(places.length, 1)) / all);
      for (const [place, level] of places) found.push([place, rarity * level]);
    }
    return found;
  }

  function scoresOf(shelf, part) {
    const found = new Map();
    for (const option of part.terms) for (const [place, score] of ofTerm(shelf, option)) found.set(place, Math.max(found.get(place) || 0, score));
    for (const word of part.words) {
      for (const [place, score] of ofTerm(shelf, word)) if (found.has(place)) found.set(place, found.get(place) + (LITERAL * score) / part.words.length);
    }
    return found;
  }

  function ordered(shelf, scores) {
    const seen = new Map(), found = new Map();
    const down = (of) => (a, b) => of.get(b) - of.get(a) || a - b;
    for (const place of [...scores.keys()].sort(down(scores))) {
      const group = shelf.items[place][3];
      found.set(place, scores.get(place) * FURTHER ** (seen.get(group) || 0));
      seen.set(group, (seen.get(group) || 0) + 1);
    }
    return [...found.keys()].sort(down(found)).map((place) => ({ shelf: shelf.name, place, score: found.get(place) }));
  }

  /* What a shelf has for some words: `hits` have all of them, `near` some; `told` says how many have which. */
  function ask(shelf, typed) {
    const parts = understood(shelf, typed), scores = parts.map((part) => scoresOf(shelf, part));
    const total = new Map();
    for (const found of scores) for (const [place, score] of found) total.set(place, [...(total.get(place) || []), score]);
    const whole = new Map(), some = new Map();
    for (const [place, found] of total) (found.length === parts.length ? whole : some).set(place, found.reduce((a, b) => a + b, 0));
    const mistyped = plain(typed).filter((word) => !stops.has(word) && mended(shelf, stem(word)) !== stem(word));
    const spelt = (part) => (part.typed.split(" ").some((word) => mistyped.includes(word)) ? "the nearest spelling of " : "");
    const told = parts.map((part, i) => `${scores[i].size} ${scores[i].size === 1 ? "has" : "have"} ${spelt(part)}'${part.typed}'`).join(", ");
    return { words: parts.length, hits: ordered(shelf, whole), near: ordered(shelf, some), told, mistyped };
  }

  /* All shelves together, the best first. */
  function askAll(typed) {
    const found = shelves.map((shelf) => ask(shelf, typed));
    const joined = (text) => text.trim().toLowerCase().replace(/\s+/g, "_"), name = joined(typed);
    const named = (hit) => joined(byName[hit.shelf].items[hit.place][0]) === name;
    const weight = (hit) => hit.score * (named(hit) ? 3 : SHELVES[hit.shelf] || 1);
    const merged = (name) => found.flatMap((each) => each[name]).sort((a, b) => weight(b) - weight(a));
    return { hits: merged("hits"), near: merged("near"), of: Object.fromEntries(shelves.map((shelf, i) => [shelf.name, found[i]])) };
  }

  const byName = Object.fromEntries(shelves.map((shelf) => [shelf.name, shelf]));
  return { ask: (name, typed) => ask(byName[name], typed), askAll, item: (hit) => byName[hit.shelf].items[hit.place], stem, plain };
}
