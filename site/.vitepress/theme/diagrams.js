import { withBase } from "vitepress";
import { nextTick } from "vue";

let loaded;

/** The program that draws. It names itself in the page. */
const program = () =>
  (loaded ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: withBase("/mermaid.js") });
    script.addEventListener("load", () => resolve(globalThis.mermaid));
    script.addEventListener("error", reject);
    document.head.append(script);
  }));

/** Draws each diagram of the page in place of its text. */
export async function drawDiagrams(isDark) {
  await nextTick();
  const blocks = [...document.querySelectorAll("div.language-mermaid")];
  if (blocks.length === 0) return;
  const mermaid = await program();
  mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: isDark ? "dark" : "default" });
  for (const [index, block] of blocks.entries()) {
    const text = block.querySelector("code").textContent;
    const { svg } = await mermaid.render(`diagram-${index}-${isDark ? "dark" : "light"}`, text);
    const drawn = block.nextElementSibling?.classList.contains("diagram")
      ? block.nextElementSibling
      : block.insertAdjacentElement("afterend", Object.assign(document.createElement("div"), { className: "diagram" }));
    drawn.innerHTML = svg;
    block.hidden = true;
  }
}
