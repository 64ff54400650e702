/** Durations as users write them: a whole number with `s`, `m`, `h` or `d`, such as `2h`. */
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The duration in milliseconds; null if the text is none. */
export const durationMs = (text: string): number | null =>
  /^[1-9]\d{0,5}[smhd]$/.test(text) ? Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? 0) : null;
