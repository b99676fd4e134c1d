/* The colours of Python code on pages of claims, in the same classes as in the listings of the documentation. */
for (const code of document.querySelectorAll("pre.code[data-python] code")) {
  const parts = /(?<s1>"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?<c1>#.*)|(?<k>\b(?:and|as|assert|class|def|elif|else|False|for|from|if|import|in|is|lambda|None|not|or|raise|return|True|while|with|yield)\b)|(?<mi>\b\d[\w.]*)/g;
  const text = code.textContent, found = document.createDocumentFragment();
  let place = 0;
  for (const match of text.matchAll(parts)) {
    const part = document.createElement("span");
    part.className = Object.keys(match.groups).find((kind) => match.groups[kind] !== undefined);
    part.textContent = match[0];
    found.append(text.slice(place, match.index), part);
    place = match.index + match[0].length;
  }
  found.append(text.slice(place));
  code.replaceChildren(found);
}
