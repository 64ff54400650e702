/** The rows of the list of runs. Nothing moves while the list is scrolled: new runs wait above it, counted. */
import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../../render/words.ts";
import type { Damaged } from "../../ports/run-table.ts";
import type { Summary } from "../../operations/views.ts";
import { filtersFrom, matches, mayMatch } from "../model/filters.ts";
import { now } from "../store/clock.ts";
import { route } from "../store/route.ts";
import { runs, runsCut } from "../store/runs.ts";
import { narrow } from "./media.ts";
import { useRowKeys } from "./row-keys.ts";
import { DamagedRow, RunRow } from "./run-row.tsx";
import { useRows } from "./virtual.ts";

const NONE: readonly Damaged[] = [];

/** `none` is shown if no run matches. */
export function RunRows({ none }: { readonly none: ComponentChildren }) {
  const scroller = useRef<HTMLDivElement>(null);
  /** While the list is scrolled, runs that began after this time wait above it. */
  const heldAt = useSignal<number | null>(null);
  const found = useFound();
  const shown = useComputed(() => {
    const held = heldAt.value;
    return held === null ? found.value : found.value.filter(({ createdAt }) => createdAt <= held);
  }).value;
  const damaged = useComputed(() => {
    const filters = filtersFrom(route.value.query);
    return (runs.value?.damaged ?? NONE).filter((each) => mayMatch(each, filters));
  }).value;
  const total = damaged.length + shown.length;
  const height = narrow.value ? 84 : 48;
  const keyOf = (index: number): string => damaged[index]?.run ?? shown[index - damaged.length]?.run ?? String(index);
  const rows = useRows({ scroller, items: [damaged, shown], count: total, heightOf: () => height, keyOf });
  useEffect(() => rows.measure(), [height]);
  const beginAtTop = useRowKeys({ scroller, rows, total });
  const toTop = (): void => {
    heldAt.value = null;
    // A list that a filter empties has no element, which would say that it is at its top.
    if (scroller.current === null) rows.scrollOffset = 0;
    else scroller.current.scrollTo({ top: 0 });
  };
  useEffect(() => {
    toTop();
    beginAtTop();
  }, [route.value.query.toString()]);
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
        <NewRuns waiting={found.value.length - shown.length} onShow={toTop} />
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
          <p class="quiet small inner">
            The list holds the 10,000 runs whose status changed last. npx cairn list shows all.
          </p>
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
function useFound(): ReadonlySignal<readonly Summary[]> {
  const minute = useComputed(() => Math.floor(now.value / 60_000) * 60_000);
  return useComputed(() => {
    const filters = filtersFrom(route.value.query);
    return (runs.value?.runs ?? []).filter((run) => matches(run, filters, minute.value));
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
