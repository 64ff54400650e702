/** Something that a view reads when it is shown, and again when what it is about has changed. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Trouble } from "../api/problem.ts";
import { readOnce } from "./poll.ts";

/**
 * `value`: what was read last, null before that. `trouble`: why the last read failed, or null. A new read ends the one
 * before, so a late answer never replaces a newer one. `read` is null while there is nothing to read.
 */
export function useRead<Read>(
  read: ((signal: AbortSignal) => Promise<Read>) | null,
  about: readonly unknown[],
): { readonly value: Read | null; readonly trouble: Trouble | null } {
  const value = useSignal<Read | null>(null);
  const trouble = useSignal<Trouble | null>(null);
  useEffect(() => {
    if (read === null) return undefined;
    const stop = new AbortController();
    void readOnce(read, { stop: stop.signal, value, trouble });
    return () => stop.abort();
  }, about);
  return { value: value.value, trouble: trouble.value };
}
