/** The shapes of the map of a run: one path for each tone, so that a run of thousands of beats is a handful of elements. */
import type { RunMark, HistoryRow } from "./beats.ts";

export interface Tick {
  readonly tone: "beat" | RunMark["tone"];
  /** The path of all ticks of this tone. */
  readonly d: string;
}

const TICK_WIDTH_MAX = 12;
const TICK_HEIGHT_MIN = 4;

/** Marks come last, so that the ticks of beats never hide them. */
export function mapOf(
  rows: readonly HistoryRow[],
  { width, height }: { readonly width: number; readonly height: number },
): readonly Tick[] {
  const step = width / Math.max(1, rows.length);
  const longest = rows.reduce((most, row) => Math.max(most, heightMs(row)), 1);
  const w = Math.max(1, Math.min(step * 0.8, TICK_WIDTH_MAX));
  const paths = new Map<Tick["tone"], string>([["beat", ""]]);
  for (const [index, row] of rows.entries()) {
    const h = row.kind === "beat" ? Math.max(TICK_HEIGHT_MIN, (height * heightMs(row)) / longest) : height;
    const tone = row.kind === "beat" ? "beat" : row.tone;
    const tick = `M${short(index * step)} ${short(height - h)}h${short(w)}V${height}h${short(-w)}z`;
    paths.set(tone, `${paths.get(tone) ?? ""}${tick}`);
  }
  return [...paths].map(([tone, d]) => ({ tone, d }));
}

const short = (length: number): number => Number(length.toFixed(2));

const heightMs = (row: HistoryRow): number =>
  row.kind === "beat" ? (row.model.span.to ?? row.at) - row.model.span.from : 0;
