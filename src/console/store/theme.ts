/** Light or dark: the system's choice, or the user's. */
import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = "cairn.theme";

const kept = localStorage.getItem(KEPT);
export const theme = signal<Theme>(THEMES.find((each) => each === kept) ?? "system");

effect(() => {
  localStorage.setItem(KEPT, theme.value);
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});
