/** A long list begins with some of its items, and shows more on request: the page of a run of thousands stays small. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { grouped } from "../../render/words.ts";

const STEP = 100;

export interface Some<Item> {
  readonly some: readonly Item[];
  /** The button that shows more; null: these are all. */
  readonly more: ComponentChildren;
}

/** `at`: an item that is shown in any case; below 0: none. */
export function useSome<Item>(items: readonly Item[], at = -1): Some<Item> {
  const asked = useSignal(STEP);
  const count = Math.max(asked.value, at + 1);
  const left = items.length - count;
  return {
    some: left > 0 ? items.slice(0, count) : items,
    more: left > 0 ? <More left={left} onMore={() => (asked.value = count + STEP)} /> : null,
  };
}

const More = ({ left, onMore }: { readonly left: number; readonly onMore: () => void }) => (
  <p>
    <button type="button" onClick={onMore}>
      Show {Math.min(STEP, left)} more of {grouped(left)}
    </button>
  </p>
);
