/** The lanes of a beat: one bar for the model, one for each call; calls that ran in parallel lie side by side in time. */
import { type Beat, type CallLane, type LaneSpan, extentOf } from "../model/beats.ts";
import { duration } from "../../render/words.ts";
import { now } from "../store/clock.ts";

const WIDTH = 1_000;
/** A bar of no length is still seen. */
const BAR_MIN = 6;

export function BeatBars({ beat, isFull }: { readonly beat: Beat; readonly isFull: boolean }) {
  const isOpen = beat.lanes.some(({ spans }) => spans.some(({ to }) => to === null));
  const extent = extentOf(beat, isOpen ? now.value : beat.at);
  const lanes = [{ label: "model", tone: "model", spans: [beat.model.span] }, ...beat.lanes.map(labelled)];
  if (!isFull) {
    const height = 5 * lanes.length + 1;
    return (
      <svg class="bars compact" viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {lanes.map(({ label, tone, spans }, index) => (
          <Bars key={label} {...{ tone, spans, extent }} top={index * 5 + 1} height={4} />
        ))}
      </svg>
    );
  }
  return (
    <div class="lanes">
      {lanes.map(({ label, tone, spans }) => (
        <div class="lane" key={label}>
          <span class="cut small">{label}</span>
          <svg class="bars" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
            <line x1="0" x2={WIDTH} y1="5" y2="5" class="rule" />
            <Bars {...{ tone, spans, extent }} top={0} height={10} />
          </svg>
          <span class={`small end ${tone === "model" ? "quiet" : `outcome ${tone}`}`}>
            {tone === "model" ? tookOf(spans) : outcomeOf(tone, spans)}
          </span>
        </div>
      ))}
    </div>
  );
}

const labelled = ({ call, tool, outcome, spans }: CallLane) => ({ label: `${tool} (${call})`, tone: outcome, spans });

const Bars = ({
  extent,
  spans,
  tone,
  top,
  height,
}: {
  readonly tone: string;
  readonly spans: readonly LaneSpan[];
  readonly extent: { readonly from: number; readonly to: number };
  readonly top: number;
  readonly height: number;
}) => {
  const scale = WIDTH / (extent.to - extent.from);
  return (
    <>
      {spans.map(({ kind, from, to }) => {
        const x = (from - extent.from) * scale;
        const width = Math.max(BAR_MIN, ((to ?? extent.to) - from) * scale);
        return (
          <rect
            key={`${kind} ${from}`}
            class={`bar ${kind} ${tone} ${to === null ? "open" : ""}`}
            x={Math.min(x, WIDTH - BAR_MIN)}
            width={Math.min(width, WIDTH - Math.min(x, WIDTH - BAR_MIN))}
            y={top}
            height={height}
          />
        );
      })}
    </>
  );
};

const tookOf = (spans: readonly LaneSpan[]): string =>
  duration(spans.reduce((sum, { from, to }) => sum + ((to ?? now.value) - from), 0));

function outcomeOf(tone: string, spans: readonly LaneSpan[]): string {
  const lost = spans.filter(({ kind }) => kind === "lost").length;
  const times = lost === 0 ? "" : `, ${lost} lost`;
  if (tone !== "open") return `${tone === "succeeded" ? tookOf(spans) : tone}${times}`;
  const last = spans.at(-1);
  if (last === undefined) return "not started";
  return `${last.kind === "wait" ? "waits" : "runs"} for ${tookOf([last])}${times}`;
}
