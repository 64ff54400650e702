/** The whole run in one strip: a tick for each beat, by its cost in time, and a mark for each break. */
import { mapOf } from "../model/minimap.ts";
import type { HistoryRow } from "../model/beats.ts";

const WIDTH = 1_000;
const HEIGHT = 32;

export function Minimap({
  rows,
  onPick,
}: {
  readonly rows: readonly HistoryRow[];
  readonly onPick: (index: number) => void;
}) {
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
