// A button that copies a listing; of a session in a shell, what was typed alone.
for (const listing of document.querySelectorAll("pre.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const lines = listing.querySelector("code").textContent.split("\n");
    const typed = lines.some((line) => line.startsWith("$ ")) ? lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)) : lines;
    try {
      await navigator.clipboard.writeText(typed.join("\n").trimEnd() + "\n");
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C";
      getSelection().selectAllChildren(listing.querySelector("code"));
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const holder = document.createElement("div");
  holder.className = "listing";
  listing.replaceWith(holder);
  holder.append(listing, button);
}
