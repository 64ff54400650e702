/** The whole run in one strip: a tick for each beat, by its cost in time, and a mark for each break. */
import type { Row } from "../model/beats.ts";

const WIDTH = 1_000;
const HEIGHT = 32;

export function Minimap(of: { readonly rows: readonly Row[]; readonly onPick: (index: number) => void }) {
  const { rows } = of;
  const step = WIDTH / Math.max(1, rows.length);
  const longest = Math.max(1, ...rows.map(heightMs));
  const pick = (event: MouseEvent): void => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    of.onPick(Math.min(rows.length - 1, Math.floor(((event.clientX - box.left) / box.width) * rows.length)));
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
      {rows.map((row, index) => {
        const height = row.kind === "beat" ? Math.max(4, (HEIGHT * heightMs(row)) / longest) : HEIGHT;
        const tone = row.kind === "beat" ? "beat" : row.tone;
        return (
          <rect
            key={index}
            class={`tick ${tone}`}
            x={index * step}
            width={Math.max(1, Math.min(step * 0.8, 12))}
            y={HEIGHT - height}
            height={height}
          />
        );
      })}
    </svg>
  );
}

const heightMs = (row: Row): number => (row.kind === "beat" ? (row.model.span.to ?? row.at) - row.model.span.from : 0);
