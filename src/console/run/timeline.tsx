/** The timeline: beats as lanes, process deaths as breaks, and a map of the whole run above them. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Beat, RunMark, HistoryRow, EventLine } from "../model/beats.ts";
import { DECISIONS } from "../model/decisions.ts";
import { BeatBars } from "../parts/bars.tsx";
import { exact } from "../parts/basics.tsx";
import { useRowKeys } from "../parts/row-keys.ts";
import { useRows } from "../parts/virtual.ts";
import { narrow } from "../parts/media.ts";
import { now } from "../store/clock.ts";
import { hrefOf, route, setQuery } from "../store/route.ts";
import { timelineRows } from "../store/run.ts";
import type { Shown } from "../../operations/views.ts";
import { dollars, duration, grouped, timeOfDay } from "../../render/words.ts";
import { mapOf } from "../model/minimap.ts";

const LINE = 24;
const LANE = 22;

/** The height is known without drawing a row, so a run of thousands of beats scrolls without jumps. */
function heightOf(row: HistoryRow, isFull: boolean): number {
  if (row.kind === "mark") return 16 + LINE * Math.max(1, row.lines.length);
  if (!isFull) return narrow.value ? 64 : 40;
  return 24 + LINE + LANE * (1 + row.lanes.length) + LINE * row.lines.length;
}

export function Timeline({ run }: { readonly run: Shown }) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = timelineRows.value;
  const isFull = route.value.query.get("view") !== "compact";
  const isAtEnd = useRef(true);
  const shown = useRows({
    scroller,
    items: [rows],
    count: rows.length,
    heightOf: (index) => heightOf(rows[index] as HistoryRow, isFull),
    keyOf: (index) => `${rows[index]?.kind ?? ""}${rows[index]?.version ?? index} ${index}`,
  });
  useRowKeys({ scroller, rows: shown, total: rows.length });
  const last = rows.at(-1);
  useEffect(() => shown.measure(), [isFull, narrow.value]);
  // A reader at the end of a live run stays there; one who has scrolled up is not moved.
  useEffect(() => {
    if (isAtEnd.current && run.inProgress && rows.length > 0) shown.scrollToIndex(rows.length - 1, { align: "end" });
  }, [rows.length, last?.lines.length]);
  const scrolled = (): void => {
    const at = scroller.current;
    isAtEnd.current = at === null || at.scrollHeight - at.scrollTop - at.clientHeight < 40;
  };
  const setView = (view: string): void => {
    const query = new URLSearchParams(route.peek().query);
    query.set("view", view);
    setQuery(query);
  };
  // A scrolled frame draws the rows in sight again, and not the map of all.
  const minimap = useMemo(
    () => <Minimap rows={rows} onPick={(index) => shown.scrollToIndex(index, { align: "start" })} />,
    [rows],
  );
  return (
    <>
      <div class="timeline-head">
        {minimap}
        <div class="groups" role="group" aria-label="Detail">
          {["full", "compact"].map((view) => (
            <button key={view} type="button" aria-pressed={isFull === (view === "full")} onClick={() => setView(view)}>
              {view === "full" ? "Full" : "Compact"}
            </button>
          ))}
        </div>
      </div>
      <div class="list timeline" ref={scroller} onScroll={scrolled} tabIndex={0} role="region" aria-label="Events">
        <div role="list" style={{ height: `${shown.getTotalSize()}px`, position: "relative" }}>
          {shown.getVirtualItems().map(({ index, key, start, size }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const style = { transform: `translateY(${start}px)`, height: `${size}px` };
            return (
              <div key={key} role="listitem" class="event-row" data-row={index} style={style}>
                {row.kind === "mark" ? (
                  <MarkRow mark={row} run={run} />
                ) : (
                  <BeatRow beat={row} isFull={isFull} run={run} />
                )}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

function MarkRow({ mark: { tone, lines, at }, run }: { readonly mark: RunMark; readonly run: Shown }) {
  return (
    <div class={`mark ${tone}`}>
      {lines.length === 0 ? <p>{exact(at)}</p> : null}
      {lines.map((line, index) => (
        <Line key={`${line.version} ${line.says}`} run={run} line={line} class={index === 0 ? "first" : ""} />
      ))}
    </div>
  );
}

function BeatRow({ beat, isFull, run }: { readonly beat: Beat; readonly isFull: boolean; readonly run: Shown }) {
  const { number, version, model, lanes, lines } = beat;
  const took = duration((model.span.to ?? now.value) - model.span.from);
  const facts = `${took} · ${grouped(model.tokens)} tokens · ${dollars(model.microUsd)}`;
  const names = lanes.map(({ tool }) => tool).join(", ");
  if (!isFull) {
    return (
      <div class="beat compact">
        <span class="number">{number}</span>
        <span class="cut what">{names === "" ? (lines[0]?.says ?? "") : names}</span>
        <BeatBars beat={beat} isFull={false} />
        <span class="quiet small end facts-of">{facts}</span>
      </div>
    );
  }
  return (
    <div class="beat">
      <p class="beat-head">
        <b>Beat {number}</b>{" "}
        <span class="quiet small cut">
          {model.name} · {facts}
        </span>
        <Version run={run} version={version} />
      </p>
      <BeatBars beat={beat} isFull />
      {lines.map((line) => (
        <Line key={`${line.version} ${line.says}`} run={run} line={line} class="told" />
      ))}
    </div>
  );
}

/** What was said of one event. What a rule or a human decided leads to the reason. */
const Line = (props: { readonly run: Shown; readonly line: EventLine; readonly class: string }) => {
  const { version, at, kind, says, about } = props.line;
  return (
    <p class={`event ${props.class}`} title={`${exact(at)}\n${says}`}>
      <Version run={props.run} version={version} />
      <time class="at" dateTime={new Date(at).toISOString()}>
        {timeOfDay(at, at)}
      </time>
      <span class="cut">{says}</span>
      {about === null ? null : (
        <a class="why" href={hrefOf(["run", about])}>
          its run
        </a>
      )}
      {DECISIONS.has(kind) ? (
        <a class="why" href={hrefOf(["run", props.run.run], { tab: "why", v: String(version) })}>
          why
        </a>
      ) : null}
    </p>
  );
};

/** The version leads to the state at that time. */
const Version = ({ run, version }: { readonly run: Shown; readonly version: number }) => (
  <a
    class="version"
    href={hrefOf(["run", run.run], { tab: "state", v: String(version) })}
    title={`The state at version ${version}`}
  >
    v{version}
  </a>
);

const WIDTH = 1_000;
const HEIGHT = 32;

/** The whole run in one strip: a tick for each beat, by its cost in time, and a mark for each break. */
function Minimap({ rows, onPick }: { readonly rows: readonly HistoryRow[]; readonly onPick: (index: number) => void }) {
  const pick = (event: MouseEvent): void => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    onPick(Math.min(rows.length - 1, Math.floor(((event.clientX - box.left) / box.width) * rows.length)));
  };
  const breaks = rows.filter((row) => row.kind === "mark" && row.tone === "break").length;
  return (
    <svg
      class="minimap"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${rows.filter(({ kind }) => kind === "beat").length} beats, ${breaks} breaks`}
      onClick={pick}
    >
      {mapOf(rows, { width: WIDTH, height: HEIGHT }).map(({ tone, d }) => (
        <path key={tone} class={`tick ${tone}`} d={d} />
      ))}
    </svg>
  );
}
