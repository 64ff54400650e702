/** A chart of steps with a readout: of the value under the pointer, and of the one that the arrow keys lead to. */
import { useSignal } from "@preact/signals";
import { PLOT_HEIGHT, outlineOf, placeAfter, placesTo, ticksTo } from "../model/chart.ts";
import { narrow } from "./media.ts";

const ROWS = 4;

/** `words`: what the readout says of a value. `rests`: what it says while none is picked. */
export function StepChart({
  values,
  format,
  label,
  rests,
  words,
  unit,
}: {
  readonly label: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly format: (value: number) => string;
  readonly words: (index: number) => string;
  readonly rests: string;
}) {
  const picked = useSignal<number | null>(null);
  const ticks = ticksTo(Math.max(0, ...values), ROWS);
  const top = ticks.at(-1) ?? 0;
  const at = picked.value === null ? null : Math.min(picked.value, values.length - 1);
  const follow = (event: PointerEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const place = Math.floor(((event.clientX - box.left) / box.width) * values.length);
    picked.value = Math.min(values.length - 1, Math.max(0, place));
  };
  const turn = (event: KeyboardEvent): void => {
    const next = event.key === "Escape" ? null : placeAfter(event.key, at ?? -1, values.length);
    if (next === null && event.key !== "Escape") return;
    event.preventDefault();
    picked.value = next;
  };
  return (
    <figure class="chart">
      <div class="chart-y quiet small" aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} style={{ bottom: `${percent(tick, top)}%` }}>
            {format(tick)}
          </span>
        ))}
      </div>
      <div
        class="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={1}
        aria-valuemax={values.length}
        aria-valuenow={(at ?? 0) + 1}
        aria-valuetext={at === null ? rests : words(at)}
        onKeyDown={turn}
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => (picked.value = null)}
      >
        <Plot {...{ values, ticks, top, at }} />
      </div>
      <div class="chart-x quiet small" aria-hidden="true">
        {placesTo(values.length, narrow.value ? 4 : 8).map((place) => (
          <span key={place} style={{ left: `${percent(place - 0.5, values.length)}%` }}>
            {place}
          </span>
        ))}
      </div>
      <figcaption class="small">
        <span class="quiet">{unit}</span> {at === null ? rests : words(at)}
      </figcaption>
    </figure>
  );
}

/** The shapes only: the words beside them keep their size when the plot is stretched to its place. */
const Plot = ({
  values,
  ticks,
  top,
  at,
}: {
  readonly values: readonly number[];
  readonly ticks: readonly number[];
  readonly top: number;
  readonly at: number | null;
}) => {
  const width = values.length;
  return (
    <svg viewBox={`0 0 ${width} ${PLOT_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {ticks.map((tick) => (
        <line key={tick} class="rule" x1="0" x2={width} {...across(PLOT_HEIGHT - percent(tick, top))} />
      ))}
      <path class="steps" d={outlineOf(values, top)} />
      {at === null ? null : (
        <>
          <rect class="picked-step" x={at} width="1" y="0" height={PLOT_HEIGHT} />
          <line class="picked-line" x1={at + 0.5} x2={at + 0.5} y1="0" y2={PLOT_HEIGHT} />
        </>
      )}
    </svg>
  );
};

const across = (y: number) => ({ y1: y, y2: y });

const percent = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);
