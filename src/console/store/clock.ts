/** The time of day, for words such as "12s ago". It moves once a second while the page is visible. */
import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1_000);
