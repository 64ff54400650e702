/** The rows of the list of runs. Nothing moves while the list is scrolled: new runs wait above it, counted. */
import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../../cli/render/words.ts";
import type { Damaged } from "../../ports/run-table.ts";
import type { Summary } from "../../operations/views.ts";
import { filtersFrom, matches } from "../model/filters.ts";
import { now } from "../store/clock.ts";
import { route } from "../store/route.ts";
import { runs, runsCut } from "../store/runs.ts";
import { useKeys } from "./keys.ts";
import { narrow } from "./media.ts";
import { DamagedRow, RunRow } from "./run-row.tsx";
import { type Rows, useRows } from "./virtual.ts";

/** `none` is shown if no run matches. */
export function RunRows({ none }: { readonly none: ComponentChildren }) {
  const scroller = useRef<HTMLDivElement>(null);
  /** While the list is scrolled, runs that began after this time wait above it. */
  const heldAt = useSignal<number | null>(null);
  const found = useFound();
  const held = heldAt.value;
  const shown = held === null ? found.value : found.value.filter(({ createdAt }) => createdAt <= held);
  const damaged = route.value.query.size === 0 ? (runs.value?.damaged ?? []) : [];
  const total = damaged.length + shown.length;
  const height = narrow.value ? 84 : 48;
  const keyOf = (index: number): string => damaged[index]?.run ?? shown[index - damaged.length]?.run ?? String(index);
  const rows = useRows({ scroller, count: total, heightOf: () => height, keyOf });
  useEffect(() => rows.measure(), [height]);
  useSelection({ scroller, rows, total });
  if (total === 0) return <>{none}</>;
  const scrolled = (): void => {
    const isAway = (scroller.current?.scrollTop ?? 0) > height;
    if (!isAway) heldAt.value = null;
    else heldAt.value ??= found.peek()[0]?.createdAt ?? null;
  };
  return (
    <>
      <Columns />
      <div class="list" ref={scroller} onScroll={scrolled} tabIndex={-1}>
        <NewRuns waiting={found.value.length - shown.length} onShow={() => scroller.current?.scrollTo({ top: 0 })} />
        <div role="list" aria-label="Runs" style={{ height: `${rows.getTotalSize()}px`, position: "relative" }}>
          {rows.getVirtualItems().map(({ index, key, start }) => (
            <Row
              key={key}
              damaged={damaged[index]}
              run={shown[index - damaged.length]}
              place={{ index, top: start, height }}
            />
          ))}
        </div>
        {runsCut.value ? (
          <p class="quiet small inner">The list holds the newest 10,000 runs. npx cairn list shows all.</p>
        ) : null}
      </div>
    </>
  );
}

const Row = ({
  damaged,
  run,
  place,
}: {
  readonly damaged: Damaged | undefined;
  readonly run: Summary | undefined;
  readonly place: { readonly index: number; readonly top: number; readonly height: number };
}) => {
  if (damaged !== undefined) return <DamagedRow damaged={damaged} {...place} />;
  return run === undefined ? null : <RunRow run={run} {...place} />;
};

/** The runs that match the filters of the address. A minute is enough for the filter by time. */
const useFound = (): ReadonlySignal<readonly Summary[]> =>
  useComputed(() => {
    const filters = filtersFrom(route.value.query);
    const minute = Math.floor(now.value / 60_000) * 60_000;
    return (runs.value?.runs ?? []).filter((run) => matches(run, filters, minute));
  });

/** The keys j and k move the focus from row to row; other filters begin at the top. */
function useSelection(of: {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly rows: Rows;
  readonly total: number;
}): void {
  const { scroller, rows, total } = of;
  const selected = useSignal(-1);
  useEffect(() => {
    scroller.current?.scrollTo({ top: 0 });
    selected.value = -1;
  }, [route.value.query.toString()]);
  const select = (index: number): boolean => {
    selected.value = Math.max(0, Math.min(total - 1, index));
    rows.scrollToIndex(selected.peek());
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${selected.peek()}"] a`)?.focus(),
    );
    return true;
  };
  useKeys((key) => {
    if (key === "j") return select(selected.peek() + 1);
    return key === "k" && select(selected.peek() - 1);
  });
}

const NewRuns = ({ waiting, onShow }: { readonly waiting: number; readonly onShow: () => void }) =>
  waiting === 0 ? null : (
    <div class="new-rows">
      <button type="button" class="primary" onClick={onShow}>
        {count(waiting, "new run")}
      </button>
    </div>
  );

const Columns = () => (
  <div class="columns" aria-hidden="true">
    <span>Status</span>
    <span>Agent, run</span>
    <span>What it does</span>
    <span class="end">Beats</span>
    <span class="end">Takeovers</span>
    <span class="end">Cost</span>
    <span class="end">Checkpoint</span>
  </div>
);
