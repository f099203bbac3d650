// Buttons of a report or of the gallery that open a scenario in the explorer, which the page has inside.

async function explorer(): Promise<string> {
  const text = document.getElementById("explorer")?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return URL.createObjectURL(new Blob([await new Response(unpacked).arrayBuffer()], { type: "text/html" }));
}

let address: Promise<string> | undefined;
for (const place of document.querySelectorAll<HTMLElement>(".again")) {
  const texts = JSON.parse(place.querySelector("script")?.textContent ?? "[]") as string[];
  const select = place.querySelector("select");
  place.querySelector("button")?.addEventListener("click", async () => {
    address ??= explorer();
    try {
      open(`${await address}#${encodeURIComponent(texts[select?.selectedIndex ?? 0] ?? "")}`);
    } catch (error) {
      address = undefined;
      place.append(` This browser can't unpack the simulator: ${error}`);
    }
  });
}
