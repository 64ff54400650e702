/** Keys of the console. A key counts only where the user does not type. */
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { go } from "../store/route.ts";

export const keyMapShown = signal(false);
export const paletteShown = signal(false);

/** What each key does, for the map that `?` shows. */
export const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["Ctrl", "K"], "find a run, an agent, a page or an action"],
  [["g", "r"], "runs"],
  [["g", "n"], "needs me"],
  [["g", "s"], "schedules"],
  [["g", "a"], "agents"],
  [["g", "h"], "health"],
  [["g", "c"], "settings"],
  [["/"], "filter this list"],
  [["j"], "next row, event or item"],
  [["k"], "the one before it"],
  [["Enter"], "open it; in the filter: go to the first row"],
  [["a"], "approve the item of Needs me that has the focus, and go to the next"],
  [["d"], "deny it, and go to the next"],
  [["?"], "this map"],
];

const PAGES: Readonly<Record<string, string>> = {
  r: "runs",
  n: "needs",
  s: "schedules",
  a: "agents",
  h: "health",
  c: "settings",
};

/** When the first key of a pair was pressed; it counts for a second. */
let begun = -Infinity;

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!isDialogOpen()) paletteShown.value = true;
    return;
  }
  if (event.key === "Enter" && (event.target as HTMLElement).matches("[data-filter]")) {
    document.querySelector<HTMLElement>('[data-row="0"] a')?.focus();
    return;
  }
  if (isTyping(event) || isDialogOpen()) return;
  if (event.key === "?") keyMapShown.value = true;
  else if (event.key === "g") begun = event.timeStamp;
  else if (event.timeStamp - begun < 1_000 && event.key in PAGES) {
    begun = -Infinity;
    event.stopImmediatePropagation();
    go([PAGES[event.key] ?? "runs"]);
  } else if (event.key === "/") {
    const field = document.querySelector<HTMLInputElement>("[data-filter]");
    if (field === null) return;
    event.preventDefault();
    field.focus();
  }
});

const isDialogOpen = (): boolean => document.querySelector("dialog[open]") !== null;

const isTyping = ({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  ctrlKey || metaKey || altKey || (target instanceof HTMLElement && target.matches("input, textarea, select"));

/** Calls `on` for the keys of a page while it is shown, from its first frame on: what is drawn hears its keys. */
export function useKeys(on: (event: KeyboardEvent) => boolean): void {
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (isTyping(event) || isDialogOpen()) return;
      if (on(event)) event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
