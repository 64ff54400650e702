/** Only the rows in sight are in the page, so a list of thousands scrolls like one of ten. */
import {
  Virtualizer,
  type VirtualizerOptions,
  elementScroll,
  observeElementOffset,
  observeElementRect,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useState } from "preact/hooks";

export type VirtualRows = Virtualizer<HTMLElement, HTMLElement>;

export function useRows(list: {
  readonly scroller: RefObject<HTMLElement | null>;
  /** What the rows are made of. While it is the same, the places of all rows stay as they are computed. */
  readonly items: readonly unknown[];
  readonly count: number;
  readonly heightOf: (index: number) => number;
  readonly keyOf: (index: number) => string;
}): VirtualRows {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const keyOf = useMemo(() => list.keyOf, list.items);
  const options: VirtualizerOptions<HTMLElement, HTMLElement> = {
    count: list.count,
    getScrollElement: () => list.scroller.current,
    estimateSize: list.heightOf,
    getItemKey: keyOf,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(0),
  };
  const [rows] = useState(() => new Virtualizer(options));
  rows.setOptions(options);
  useLayoutEffect(() => rows._didMount(), [rows]);
  useLayoutEffect(() => rows._willUpdate());
  return rows;
}
