/** Renders what a run recalls and learns, as a line of its timeline. */
import type { EventOf } from "../core/event.ts";
import type { MemoryEvents } from "../core/memory.ts";

const SHOWN_MAX = 3;

export function memoryLine({ kind, refs }: { readonly [K in keyof MemoryEvents]: EventOf<K> }[keyof MemoryEvents]): {
  readonly says: string;
} {
  const names = refs.slice(0, SHOWN_MAX).map(({ id }) => id);
  const rest = refs.length > names.length ? ` and ${refs.length - names.length} more` : "";
  return { says: `${kind === "Recalled" ? "recalled from memory" : "added to memory"}: ${names.join(", ")}${rest}` };
}
