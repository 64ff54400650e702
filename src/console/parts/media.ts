/** Whether a media query holds, as a signal. */
import { type ReadonlySignal, signal } from "@preact/signals";

function media(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const holds = signal(list.matches);
  list.addEventListener("change", () => (holds.value = list.matches));
  return holds;
}

export const narrow = media("(max-width: 900px)");
