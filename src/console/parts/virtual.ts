/** Only the rows in sight are in the page, so a list of thousands scrolls like one of ten. */
import {
  Virtualizer,
  type VirtualizerOptions,
  elementScroll,
  observeElementOffset,
  observeElementRect,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

export type Rows = Virtualizer<HTMLElement, HTMLElement>;

export function useRows(of: {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly count: number;
  readonly heightOf: (index: number) => number;
  readonly keyOf: (index: number) => string;
}): Rows {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const options: VirtualizerOptions<HTMLElement, HTMLElement> = {
    count: of.count,
    getScrollElement: () => of.scroller.current,
    estimateSize: of.heightOf,
    getItemKey: of.keyOf,
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
