/** Icons of 16 px. A status has a shape of its own besides its colour. */
import type { Group } from "../model/groups.ts";

const SHAPES = {
  completed: "M3 8.500l3.200 3.200L13 4.800",
  failed: "M4 4l8 8M12 4l-8 8",
  needs: "M8 3v6.500M8 12.500v.01",
  running: "M5 3.500l7.500 4.500L5 12.500z",
  waiting: "M8 4v4l2.600 1.800M8 1.800a6.200 6.200 0 1 0 0 12.400 6.200 6.200 0 0 0 0-12.400",
  cancelled: "M3.800 3.800l8.400 8.400M8 1.800a6.200 6.200 0 1 0 0 12.400 6.200 6.200 0 0 0 0-12.400",
  runs: "M2.500 4h11M2.500 8h11M2.500 12h7",
  inbox: "M2 9h3.500l1 2h3l1-2H14M2 9l2-6h8l2 6v4H2z",
  schedules: "M2.500 3.500h11v10h-11zM2.500 6.500h11M5.500 1.800v3M10.500 1.800v3",
  agents: "M5 6.500h6a2 2 0 0 1 2 2v3a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-3a2 2 0 0 1 2-2zM8 6.500V3M6 10v.01M10 10v.01",
  health: "M1.500 8.500h3l2-5 3 9 2-4h3",
  settings: "M2.500 5h7M12.500 5h1M2.500 11h1M6.500 11h7M11 3.500v3M5 9.500v3",
  search: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9M10.300 10.300L14 14",
  bolt: "M9 1.500L3.500 9H8l-1 5.500L12.500 7H8z",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
} as const;

export type IconName = keyof typeof SHAPES;

export const Icon = ({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path
      d={SHAPES[name]}
      fill="none"
      stroke="currentColor"
      stroke-width={name === "needs" ? 2.4 : 1.7}
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
);

export const Mark = () => (
  <svg width="20" height="20" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <g fill="currentColor">
      <rect x="3" y="22" width="26" height="7" rx="3.5" />
      <rect x="6" y="13" width="19" height="7" rx="3.500" />
      <rect x="10" y="4" width="12" height="7" rx="3.5" />
    </g>
  </svg>
);

/** The status of a run by shape, word and colour. */
export const Status = ({ group, word }: { readonly group: Group; readonly word: string }) => (
  <span class={`status ${group}`}>
    <Icon name={group} />
    {word}
  </span>
);
