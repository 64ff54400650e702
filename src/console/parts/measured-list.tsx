/** A column of items whose heights are known only once they are drawn. Only those in sight are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useRows } from "./virtual.ts";

export function MeasuredList<Item>({
  items,
  height,
  keyOf,
  at,
  label,
  draw,
}: {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  /** The height of an item that was not drawn yet. */
  readonly height: number;
  readonly draw: (item: Item) => ComponentChildren;
  /** The item to bring into sight; below 0: none. */
  readonly at: number;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRows({
    scroller,
    items: [items],
    count: items.length,
    heightOf: () => height,
    keyOf: (index) => (items[index] === undefined ? String(index) : keyOf(items[index])),
  });
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: "auto" });
  }, [at]);
  return (
    <div class="measured" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <div role="list" style={{ height: `${rows.getTotalSize()}px`, position: "relative" }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              role="listitem"
              class="measured-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              {draw(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
