/* An address within something folded opens it. */
function unfold() {
  let name = location.hash.slice(1);
  try { name = decodeURIComponent(name); } catch { /* not an address that the site has written */ }
  const target = document.getElementById(name);
  let closed = false;
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName !== "DETAILS" || part.open) continue;
    part.open = closed = true;
  }
  if (closed) target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();
