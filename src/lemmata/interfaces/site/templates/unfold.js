/* An address within something folded opens it. */
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1).replace(/%(?![0-9A-F]{2})/gi, "%25")));
  let closed = false;
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName !== "DETAILS" || part.open) continue;
    part.open = closed = true;
  }
  if (closed) target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();
