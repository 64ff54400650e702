/** The keys j and k move the focus from row to row of a list of which only the rows in sight are in the page. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { useKeys } from "./keys.ts";
import type { VirtualRows } from "./virtual.ts";

/** Returns a function that begins at the top again. The first link of a row takes the focus. */
export function useRowKeys({
  scroller,
  rows,
  total,
}: {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly rows: VirtualRows;
  readonly total: number;
}): () => void {
  const selected = useSignal(-1);
  /** The selected row is not drawn yet, so it has no focus. */
  const isComing = useRef(false);
  const focus = (): boolean => {
    const link = scroller.current?.querySelector<HTMLElement>(`[data-row="${selected.peek()}"] a`);
    link?.focus();
    isComing.current = link === null || link === undefined;
    return !isComing.current;
  };
  const select = (index: number): boolean => {
    selected.value = Math.max(0, Math.min(total - 1, index));
    rows.scrollToIndex(selected.peek());
    if (!focus()) requestAnimationFrame(focus);
    return true;
  };
  useKeys(({ key }) => {
    if (total === 0 || (key !== "j" && key !== "k")) return false;
    const focused = document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset["row"];
    const at = focused === undefined || isComing.current ? selected.peek() : Number(focused);
    return select(key === "j" ? at + 1 : at - 1);
  });
  return () => (selected.value = -1);
}
