/* What scrolls within the page can be reached by the keyboard. */
function reach() {
  for (const part of document.querySelectorAll("pre, .scroll, .chart, p, dd, li, h1")) {
    const style = getComputedStyle(part);
    const across = part.scrollWidth > part.clientWidth && style.overflowX === "auto";
    const down = part.scrollHeight > part.clientHeight && style.overflowY === "auto";
    if (across || down) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
reach();
